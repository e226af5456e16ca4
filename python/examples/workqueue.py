"""A work queue: rank 0 gives tasks to whoever asks, and collects the results.

    PYTHONPATH=python golaunch -n 8 python3 python/examples/workqueue.py [TASKS]
"""

import array
import sys

import golaunch

TASK, RESULT = 1, 2  # tags
NONE = -1  # no task is left; no result yet


def work(task: int) -> int:
    return task * task


def give(world: golaunch.Comm, tasks: int) -> int:
    """Gives out the tasks and returns the sum of the results."""
    total, following, busy = 0, 0, world.size - 1
    answer = array.array("q", [0])
    while busy > 0:
        got = world.recv(answer, tag=RESULT)
        if answer[0] != NONE:
            total += answer[0]
        if following < tasks:
            world.send(array.array("q", [following]), got.source, TASK)
            following += 1
        else:
            world.send(array.array("q", [NONE]), got.source, TASK)
            busy -= 1
    return total


def serve(world: golaunch.Comm) -> None:
    """Works until no task is left."""
    task, result = array.array("q", [0]), array.array("q", [NONE])
    while True:
        world.send(result, 0, RESULT)
        world.recv(task, 0, TASK)
        if task[0] == NONE:
            return
        result[0] = work(task[0])


with golaunch.Job() as job:
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if job.world.size < 2:
        sys.exit("workqueue: rank 0 gives work to others: start two ranks or more")
    if job.world.rank == 0:
        print(f"{tasks} tasks, results add up to {give(job.world, tasks)}")
    else:
        serve(job.world)
