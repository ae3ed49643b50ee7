"""Hosts on one machine: network namespaces with shaped links. Needs root."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

# Four of the largest packets that a host hands down at once: with one, TCP gets half of the rate.
BURST = "256k"


class Failed(Exception):
    """A system that does not work here: it is left out."""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Hosts:
    """Namespaces on a switch, which is a bridge in a namespace of its own. Host 0 … count - 1 have
    shaped links; one more, for mpirun or a head, is not shaped."""

    def __init__(self, count, megabits):
        self.count, self.megabits = count, megabits
        self.prefix = f"shoal{os.getpid()}n"
        self.made = []
        self.children = []

    def name(self, host):
        return f"{self.prefix}{host}"

    def address(self, host):
        return f"10.77.0.{host + 1}"

    def __enter__(self):
        try:
            self.make("switch")
            self.inside("switch", "ip", "link", "add", "br0", "type", "bridge")
            self.inside("switch", "ip", "link", "set", "br0", "up")
            for host in range(self.count + 1):
                self.plug(host, shaped=host < self.count)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end_children()
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def make(self, host):
        self.made.append(self.name(host))
        run("ip", "netns", "add", self.name(host))
        self.inside(host, "ip", "link", "set", "lo", "up")

    def inside(self, host, *command):
        return run("ip", "netns", "exec", self.name(host), *command)

    def plug(self, host, shaped):
        self.make(host)
        port = f"port{host}"
        run("ip", "link", "add", "eth0", "netns", self.name(host), "type", "veth", "peer", "name",
            port, "netns", self.name("switch"))
        self.inside(host, "ip", "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        self.inside(host, "ip", "link", "set", "eth0", "up")
        self.inside("switch", "ip", "link", "set", port, "master", "br0", "up")
        if shaped:
            bucket = ("root", "tbf", "rate", f"{self.megabits}mbit", "burst", BURST, "latency",
                      "50ms")
            self.inside(host, "tc", "qdisc", "add", "dev", "eth0", *bucket)
            self.inside("switch", "tc", "qdisc", "add", "dev", port, *bucket)

    def start(self, host, *command, **options):
        child = subprocess.Popen(["ip", "netns", "exec", self.name(host), *command],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True, **options)
        self.children.append(child)
        return child

    def end_children(self):
        for child in self.children:
            if child.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        self.children = []

    def outputs(self, commands, seconds):
        """Runs one command per host at once; what each printed."""
        children = [self.start(host, *command) for host, command in enumerate(commands)]
        return self.collect(children, seconds)

    def collect(self, children, seconds):
        deadline = time.monotonic() + seconds
        texts = []
        try:
            for child in children:
                text, errors = child.communicate(timeout=max(0.1, deadline - time.monotonic()))
                if child.returncode != 0:
                    raise Failed(errors.strip()[-400:] or f"exit {child.returncode}")
                texts.append(text)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"not over within {seconds:.0f} s") from late
        finally:
            self.end_children()
        return texts


def goodput(hosts, seconds):
    """Bytes per second that TCP gets through each link of the ring, all at once: the mean."""
    servers = [hosts.start(host, "iperf3", "-s", "-1", "-J") for host in range(hosts.count)]
    time.sleep(0.5)
    clients = [hosts.start(host, "iperf3", "-c", hosts.address((host + 1) % hosts.count), "-J", "-t",
                           str(seconds), "-O", "1") for host in range(hosts.count)]
    texts = hosts.collect(clients + servers, seconds + 20)[:hosts.count]
    rates = [json.loads(text)["end"]["sum_received"]["bits_per_second"] / 8 for text in texts]
    return sum(rates) / len(rates)


def idle_share(seconds=0.5):
    def times():
        fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return fields[3] + fields[4], sum(fields)
    idle, total = times()
    time.sleep(seconds)
    idle_after, total_after = times()
    return (idle_after - idle) / max(1, total_after - total)


def wait_until_idle(limit):
    """True if the machine has little else to do; waits for that, up to a limit."""
    deadline = time.monotonic() + limit
    while True:
        if idle_share() >= 0.9:
            return True
        if time.monotonic() > deadline:
            return False
