"""What processes of different versions must agree on to work side by side."""

PROTOCOL = 1
"""Raise it when an earlier version could not carry out a job that this version queues: a new kind of request, other
fields in a request, another layout of a training's files. A worker takes jobs of its protocol and of lower ones, so
this version must still carry out those of the protocol before. Experiments never go back to a lower one."""
