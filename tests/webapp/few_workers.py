"""The supervisor with one worker for each queue: to start one takes two seconds of processor time.

python -m tests.webapp.few_workers --port PORT
"""

import sys

from webapp import supervisor

WORKERS = {"train": "train", "film-1": "film", "llm-1": "llm"}

if __name__ == "__main__":
    supervisor.WORKERS = WORKERS
    sys.exit(supervisor.main())
