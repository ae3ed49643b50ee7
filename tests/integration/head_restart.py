#!/usr/bin/env python3
"""A head that is killed (-9) in mid-answer takes its nodes back and finishes the answer exactly; a
client that comes back with the answer's id gets all of it.

  head_restart.py SHOAL MODEL
"""

import http.client
import json
import sys
import time

from cluster_processes import Cluster

QUESTION = {"prompt": "ROMEO:", "max_tokens": 150, "temperature": 0.7, "seed": 7, "stream": True}


def pieces(response):
    for line in response:
        if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
            yield json.loads(line[6:])


def text_of(chunks):
    return "".join(chunk["choices"][0].get("text") or "" for chunk in chunks)


def ask(cluster):
    connection = http.client.HTTPConnection(cluster.http, timeout=60)
    connection.request("POST", "/v1/completions", json.dumps(QUESTION), {"Shoal-Keep": "1"})
    return connection, connection.getresponse()


def main():
    # Slow links, so that there is time to kill it.
    cluster = Cluster(sys.argv[1], sys.argv[2], 3, ["--delay-ms", "5", "--stages", "3"])
    try:
        undisturbed = text_of(pieces(ask(cluster)[1]))
        connection, response = ask(cluster)
        heard, answer_id = "", None
        for chunk in pieces(response):
            answer_id = chunk["id"]
            heard += chunk["choices"][0].get("text") or ""
            if len(heard) > 40:
                break
        cluster.restart_head()
        connection.close()
        deadline = time.monotonic() + 60
        while True:
            try:
                again = http.client.HTTPConnection(cluster.http, timeout=60)
                again.request("GET", f"/v1/answers/{answer_id}?stream=1")
                answer = again.getresponse()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        if answer.status != 200:
            sys.exit(f"the answer is lost: {answer.status} {answer.read().decode()}")
        resumed = text_of(pieces(answer))
    finally:
        cluster.close()
    if not undisturbed.startswith(heard) or resumed != undisturbed:
        sys.exit(f"undisturbed: {undisturbed!r}\nheard: {heard!r}\nresumed: {resumed!r}")
    print(f"{len(heard)} characters heard, then kill -9; the whole answer of {len(resumed)} characters "
          "was there afterwards, the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
