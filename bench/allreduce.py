#!/usr/bin/python3
"""How fast gradients are added up over shaped links: `./dev bench allreduce`.

  allreduce.py BUILD [--hosts 4:1000,8:250] [--megabytes 4.7,26.7,97.7,230] [--rounds 5] [--quick]
               [--json] [--networks] [--ours-only] [--piece N] [--ahead N]

Every rank is a process in a network namespace, "a host", with a link of so many Mb/s (a token
bucket both ways) to a switch. First iperf3 measures what TCP gets through all links of the ring at
once, B; 2(N-1)/N * S/B is the bound. Then ours (plain and TLS), gloo's ring and Open MPI's
MPI_Allreduce run in turns; the best of the rounds counts, and of a run the slowest rank. A round
waits until the machine is idle, and says so if it never was.

--networks: the gradients of the paper's ten networks (its figure 6) instead: packed into one ring of
whole chunks, a ring for each blob one after the other, and buckets of 4 MiB of which three are under
way, on the first of --hosts.

Needs root. Everything is inside namespaces of its own, which are gone at the end, also on Ctrl-C.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

from hosts import Failed, Hosts, goodput, run, wait_until_idle
from report import row, show

PACKINGS = ("packed", "each", "buckets")


class Systems:
    """What runs a list of cases once and gives the seconds of each."""

    def __init__(self, options, hosts, folder):
        self.options, self.hosts, self.folder = options, hosts, pathlib.Path(folder)
        self.rank = str(options.build / "bench/peers/allreduce")
        self.gloo_rank = options.build / "bench/peers/gloo_ring"
        self.turn = 0
        self.addresses = ",".join(f"{hosts.address(h)}:7400" for h in range(hosts.count))
        run(self.rank, "--make-identities", str(self.folder), "--addresses", self.addresses)

    @staticmethod
    def slowest(texts):
        return [max(times) for times in zip(*(json.loads(text) for text in texts if text.strip()))]

    def ours(self, lists, limit, *arguments):
        command = [self.rank, "--addresses", self.addresses, "--lists", json.dumps(lists), *arguments]
        if self.options.piece:
            command += ["--piece", str(self.options.piece)]
        if self.options.ahead:
            command += ["--ahead", str(self.options.ahead)]
        return self.slowest(self.hosts.outputs(
            [[*command, "--rank", str(host)] for host in range(self.hosts.count)], limit))

    def plain(self, lists, limit):
        return self.ours(lists, limit)

    def tls(self, lists, limit):
        return self.ours(lists, limit, "--tls", str(self.folder))

    def gloo(self, lists, limit):
        if not self.gloo_rank.exists():
            raise Failed("not built: install libgloo-dev and build again")
        self.turn += 1
        store = self.folder / f"gloo{self.turn}"
        store.mkdir()
        elements = [str(sum(sizes)) for sizes in lists]
        return self.slowest(self.hosts.outputs(
            [[str(self.gloo_rank), str(host), str(self.hosts.count), str(store),
              self.hosts.address(host), *elements] for host in range(self.hosts.count)], limit))

    def mpi(self, lists, limit):
        if not shutil.which("mpirun"):
            raise Failed("there is no mpirun: install openmpi-bin")
        # mpirun calls this instead of ssh: `agent ADDRESS COMMAND…`.
        agent = self.folder / "agent"
        agent.write_text("#!/bin/sh\nhost=$(( ${1##*.} - 1 ))\nshift\n"
                         f"exec ip netns exec {self.hosts.prefix}$host unshare -u sh -c "
                         "\"hostname shoalhost$host; $*\"\n")
        agent.chmod(0o755)
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        child = self.hosts.start(
            self.hosts.count, "mpirun", "--mca", "plm_rsh_agent", str(agent), "--mca", "btl",
            "tcp,self", "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca",
            "oob_tcp_if_include", "10.77.0.0/24", "--bind-to", "none", "--host",
            ",".join(self.hosts.address(host) for host in range(self.hosts.count)), "-n",
            str(self.hosts.count), self.rank, "--mpi", "--lists", json.dumps(lists),
            env=environment)
        return self.slowest(self.hosts.collect([child], limit)[0].splitlines())


def race(systems, names, lists, limit, rounds):
    """Best seconds of each case for each name, and whether the machine was busy with other things."""
    best = {}
    busy = 0
    for number in range(rounds):
        for name, work in names.items():
            if best.get(name) == []:
                continue  # It failed before.
            busy += not wait_until_idle(3)
            try:
                times = work(lists, limit)
            except Failed as failure:
                print(f"{name}: left out: {failure}", file=sys.stderr)
                best[name] = []
                continue
            best[name] = [min(pair) for pair in zip(times, best.get(name, times))]
            print(f"round {number + 1}: {name:<8} " + " ".join(f"{t:.3f}" for t in times),
                  file=sys.stderr)
    return {name: times for name, times in best.items() if times}, busy


def bound(hosts, megabytes, rate):
    return 2 * (hosts - 1) / hosts * megabytes * 1e6 / rate


def measure_sizes(options, hosts, folder):
    systems = Systems(options, hosts, folder)
    rate = goodput(hosts, 2 if options.quick else 4)
    print(f"{hosts.count} hosts at {hosts.megabits} Mb/s: TCP gets {rate * 8e-6:.1f} Mb/s",
          file=sys.stderr)
    sizes = [float(size) for size in options.megabytes.split(",")]
    lists = [[int(size * 1e6 / 4)] for size in sizes]
    names = {"plain": systems.plain, "tls": systems.tls}
    if not options.ours_only:
        names |= {"gloo": systems.gloo, "mpi": systems.mpi}
    limit = 30 + 6 * sum(bound(hosts.count, size, rate) for size in sizes)
    best, busy = race(systems, names, lists, limit, options.rounds)
    for i, size in enumerate(sizes):
        peers = {name: best[name][i] for name in ("gloo", "mpi") if name in best}
        for name in ("plain", "tls"):
            if name in best:
                yield row(f"n={hosts.count} {hosts.megabits}Mb/s {size:g}MB {name}", "s",
                          best[name][i], peers, bound(hosts.count, size, rate),
                          higher_is_better=False, busy_turns=busy)


def measure_networks(options, hosts, folder):
    systems = Systems(options, hosts, folder)
    rate = goodput(hosts, 2 if options.quick else 4)
    zoo = json.loads(run(str(options.build / "apps/shoal/shoal"), "zoo", "table", "--json"))
    nets = zoo["nets"]
    lists = [net["sizes"] for net in nets]
    names = {name: lambda lists, limit, name=name: systems.ours(lists, limit, "--packing", name)
             for name in PACKINGS}
    limit = 60 + 10 * sum(bound(hosts.count, 4e-6 * sum(sizes), rate) for sizes in lists)
    best, busy = race(systems, names, lists, limit, options.rounds)
    for i, net in enumerate(nets):
        peers = {name: best[name][i] for name in ("packed", "each") if name in best}
        yield row(f"{net['zoo']} n={hosts.count} {hosts.megabits}Mb/s", "s", best["buckets"][i],
                  peers, bound(hosts.count, 4e-6 * sum(lists[i]), rate), higher_is_better=False,
                  blobs=len(lists[i]), busy_turns=busy)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--hosts", default="4:1000,8:250", help="how many, and Mb/s of their links")
    parser.add_argument("--megabytes", default="4.7,26.7,97.7,230")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="2 rounds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--piece", type=int, help="elements of a message")
    parser.add_argument("--ahead", type=int, help="messages under way")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    if os.geteuid() != 0:
        sys.exit("allreduce: needs root, to make network namespaces")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows = []
    cases = [tuple(int(x) for x in case.split(":")) for case in options.hosts.split(",")]
    measure = measure_networks if options.networks else measure_sizes
    try:
        for count, megabits in cases[:1] if options.networks else cases:
            with tempfile.TemporaryDirectory() as folder, Hosts(count, megabits) as hosts:
                rows += measure(options, hosts, folder)
    except KeyboardInterrupt:
        sys.exit(130)
    except Failed as failure:
        sys.exit(f"allreduce: {failure}")
    show("allreduce", {"cores": os.cpu_count(), "rounds": options.rounds}, rows, options.json)


if __name__ == "__main__":
    main()
