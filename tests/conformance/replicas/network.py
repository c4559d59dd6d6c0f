"""Hosts with a network namespace each, on one bridge. A run cuts and slows their links."""

import socket
import subprocess
from pathlib import Path

from stage import run

# The host of the run itself.
OWN = '10.77.0.1'

# No host has this address: frames to it are lost without a sign.
NOWHERE = '02:00:00:00:ff:ff'


def create():
    """Makes the bridge, in the network namespace of this process."""
    Path('/run/netns').mkdir()
    run('ip', 'link', 'add', 'hosts', 'type', 'bridge')
    run('ip', 'address', 'add', f'{OWN}/24', 'dev', 'hosts')
    run('ip', 'link', 'set', 'hosts', 'up')


def listens(address, port):
    with socket.socket() as own:
        own.settimeout(1)
        return own.connect_ex((address, port)) == 0


class Host:
    def __init__(self, name, number):
        self.name = name
        self.address = f'10.77.0.{number}'
        run('ip', 'netns', 'add', name)
        run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
        run('ip', 'link', 'set', name, 'master', 'hosts', 'up')
        self.run('ip', 'link', 'set', 'lo', 'up')
        self.run('ip', 'link', 'set', 'eth0', 'up')
        self.run('ip', 'address', 'add', f'{self.address}/24', 'dev', 'eth0')

    def command(self, *command):
        """A command that runs on this host. The process is that of the command."""
        return ['nsenter', f'--net=/run/netns/{self.name}', *command]

    def run(self, *command):
        return run(*self.command(*command))

    def cut(self, other):
        """Loses all packets between two hosts, in silence."""
        for one, peer in [(self, other), (other, self)]:
            one.run('ip', 'neigh', 'replace', peer.address, 'lladdr', NOWHERE, 'dev', 'eth0', 'nud', 'permanent')

    def join(self, other):
        for one, peer in [(self, other), (other, self)]:
            one.run('ip', 'neigh', 'del', peer.address, 'dev', 'eth0')

    def slow(self, rate):
        """Lets this host send so much only, such as `64kbit` in a second."""
        self.run('tc', 'qdisc', 'replace', 'dev', 'eth0', 'root', 'tbf', 'rate', rate, 'burst', '4kb', 'latency', '2s')

    def hasten(self):
        subprocess.run(self.command('tc', 'qdisc', 'del', 'dev', 'eth0', 'root'), capture_output=True, check=False)
