"""star.py RANK HOW: native/programs/peerend.c in Python, for its slower ends.

Rank RANK ends by itself, HOW is "exit" (with code 3), "kill" or "segv"; who sees a
connection end exits with code 5. All ranks are connected with rank 0.
"""
import os
import select
import signal
import socket
import sys
import time

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
peers = []
if rank == 0:
    door = socket.create_server(("", at[1]), backlog=size)
    peers = [door.accept()[0] for _ in range(size - 1)]
    for p in peers:
        p.sendall(b"x")
else:
    while not peers:
        try:
            peers = [socket.create_connection(at)]
        except ConnectionRefusedError:
            time.sleep(0.001)
    peers[0].recv(1)


def say_when():
    print(rank, "%.9f" % time.monotonic(), flush=True)


if rank == int(sys.argv[1]):
    time.sleep(0.1)
    say_when()
    if sys.argv[2] == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL if sys.argv[2] == "kill" else signal.SIGSEGV)
select.select(peers, [], [])
say_when()
os._exit(5)
