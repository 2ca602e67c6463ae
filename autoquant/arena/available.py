"""Who can race on this machine: what each adapter answers, and what none of them asks. Spends no call."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from autoquant.harness import Availability, Competitor, harness_of
from autoquant.harness.base import Refusal
from autoquant.harness.credentials import missing_variable
from autoquant.harness.machine import Machine

ANSWER_SECONDS = 3.0
"""For a model endpoint to take a connection."""
_PORTS = {"http": 80, "https": 443}


def availabilities(competitors: Iterable[Competitor], machine: Machine) -> dict[str, Availability]:
    """Whether each competitor can start here, by name: its adapter's answer first, then its variables, the programs
    that its own one needs, and whether its endpoint takes a connection. A silent endpoint is a note: it may yet wake.
    """
    racers = tuple(competitors)
    answers = {racer.name: harness_of(racer).check(racer, machine) for racer in racers}
    urls = {racer.base_url for racer in racers if racer.base_url and answers[racer.name].ok}
    silent = {url: silence(url, machine.env) for url in urls}
    return {racer.name: _completed(racer, answers[racer.name], machine, silent) for racer in racers}


def _completed(
    competitor: Competitor, answer: Availability, machine: Machine, silent: Mapping[str, str]
) -> Availability:
    if not answer.ok:
        return answer
    if refusal := _lacking(competitor, machine):
        return refusal.answer(answer.version)
    note = "; ".join(filter(None, (answer.note, silent.get(competitor.base_url, ""))))
    return replace(answer, note=note)


def _lacking(competitor: Competitor, machine: Machine) -> Refusal | None:
    for name in competitor.pass_env:
        if name not in machine.env:
            return missing_variable(name, "pass_env")
    for program in competitor.needs:
        if machine.find(program) is None:
            return Refusal(f"{program} not found", "install it, or take it out of needs")
    return None


def silence(url: str, env: Mapping[str, str]) -> str:
    """Why nothing is heard of a model endpoint; empty when it takes a connection. Nothing is sent.

    Behind a proxy nothing is tried: the way there is the program's own.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    if _proxied(parts.scheme, host, env):
        return ""
    try:
        socket.create_connection((host, port), timeout=ANSWER_SECONDS).close()
    except OSError as error:
        return f"nothing answers at {host}:{port} ({error.strerror or error})"
    return ""


def _proxied(scheme: str, host: str, env: Mapping[str, str]) -> bool:
    def says(name: str) -> str:
        return env.get(name.lower(), "") or env.get(name.upper(), "")

    spared = [name.strip().lstrip(".") for name in says("no_proxy").split(",")]
    direct = any(name and (fnmatchcase(host, name) or host.endswith(f".{name}")) for name in spared)
    return not direct and bool(says(f"{scheme}_proxy") or says("all_proxy"))
