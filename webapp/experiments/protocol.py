"""What processes of different versions must agree on to work side by side."""

PROTOCOL = 9
"""Raise it when an earlier version could not carry out a job that this version queues: a new kind of request, other
fields in a request, another layout of a training's files. A worker takes jobs of its protocol and of lower ones, so
this version must still carry out those of the protocol before. Experiments never go back to a lower one."""


def name_queue(queue: str, protocol: int) -> str:
    """The queue of messages about jobs of this protocol. An older worker does not listen to it: it would take a message
    away from those who can carry out the job.
    """
    return queue if protocol <= 1 else f"{queue}-{protocol}"


def list_queues(queue: str) -> list[str]:
    """The queues that a worker of this version listens to."""
    return [name_queue(queue, protocol) for protocol in range(1, PROTOCOL + 1)]
