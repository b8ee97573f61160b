"""The spec of Redis against servers, and as the server of real clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import redis
from servers.redis import needs_redis

SPEC = Path(library.__file__).parent / "specs" / "redis.fan"

# A client that tries every kind of value.
REDIS_PY = """
import sys, redis
client = redis.Redis(port=int(sys.argv[1]), protocol=2, socket_timeout=20)
client.set("a", "1")
assert (client.get("a"), client.incr("a"), client.append("a", "x"), client.getrange("a", 0, -2)) == (b"1", 2, 2, b"2")
assert (client.rpush("l", "x", "y"), client.lrange("l", 0, -1), client.lpop("l")) == (2, [b"x", b"y"], b"x")
assert (client.sadd("s", "m", "m"), client.smembers("s"), client.srem("s", "n")) == (1, {b"m"}, 0)
assert (client.hset("h", "f", "v"), client.hgetall("h"), client.hget("h", "g")) == (1, {b"f": b"v"}, None)
assert (client.type("h"), client.expire("h", 100), 0 < client.ttl("h") <= 100) == (b"hash", True, True)
assert (client.delete("a", "b"), client.mget("a", "l")) == (1, [None, None])
try:
    client.get("h")
except redis.ResponseError as error:
    assert "WRONGTYPE" in str(error), error
else:
    raise SystemExit("a hash is no string")
client.close()
"""
CLIENTS = {
    "redis-py": shlex.join([sys.executable, "-c", REDIS_PY, "{port}"]),
    "redis-cli": "redis-cli -p {port} -r 3 RPUSH palaver:l a 'two words'",
}


def talk(palaver: Any, port: int, sessions: int, *options: str) -> Any:
    return palaver("talk", "redis", "--client", str(port), "-n", str(sessions), "--seed", "1", *options)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "1877 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with redis.small() as server:
        talked = talk(palaver, server.port, 2, "--unguided")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_redis
def test_redis_is_talked_to_without_findings(palaver: Any) -> None:
    with redis.redis_server() as server:
        talked = talk(palaver, server.port, 10, "--unguided")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("name", ["redis-py", pytest.param("redis-cli", marks=pytest.mark.servers("redis-cli"))])
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, name: str) -> None:
    talked = palaver("talk", "redis", "--server", "{port}", "--target", CLIENTS[name], "-n", "5", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
