"""A server of Redis in a few lines, to be made wrong: `redis_small.py` prints its port, and serves it."""

from __future__ import annotations

from typing import Any

from servers.in_process import serve_streams

# Each command with how many arguments it has, at least and at most.
FEWEST_AND_MOST = {
    **dict.fromkeys(("TYPE", "TTL", "PERSIST", "GET", "STRLEN", "INCR", "DECR", "LPOP", "RPOP", "LLEN"), (1, 1)),
    **dict.fromkeys(("SCARD", "SMEMBERS", "HLEN", "HGETALL", "ECHO"), (1, 1)),
    **dict.fromkeys(("RENAME", "EXPIRE", "APPEND", "INCRBY", "DECRBY", "LINDEX", "SISMEMBER", "HGET"), (2, 2)),
    **dict.fromkeys(("GETRANGE", "LRANGE", "HSET"), (3, 3)),
    **dict.fromkeys(("DEL", "EXISTS", "MGET"), (1, 99)),
    **dict.fromkeys(("LPUSH", "RPUSH", "SADD", "SREM", "HDEL"), (2, 99)),
    "PING": (0, 1),
    "SET": (2, 4),
    "QUIT": (0, 0),
}
LIMIT = 1 << 63


class WrongKind(Exception):
    """The key has a value that the command is not for."""


class Refused(Exception):
    """With the reason."""


class Store:
    """One connection and its data. A command is a method: None is nil, text is a status, bytes are a bulk string."""

    def __init__(self) -> None:
        self.is_over = False
        self.begun = b""
        self.data: dict[bytes, Any] = {}
        self.expiring: set[bytes] = set()

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        self.begun += data
        answers = b""
        while not self.is_over and (words := self.next_request()) is not None:
            answers += self.answer(words)
        return answers

    def next_request(self) -> list[bytes] | None:
        line, end, rest = self.begun.partition(b"\r\n")
        if not end:
            return None
        if not line.startswith(b"*"):
            self.begun = rest
            return line.split()
        words = []
        for _ in range(int(line[1:])):
            size, end, rest = rest.partition(b"\r\n")
            if not end or len(rest) < int(size[1:]) + 2:
                return None
            words.append(rest[: int(size[1:])])
            rest = rest[int(size[1:]) + 2 :]
        self.begun = rest
        return words

    def answer(self, words: list[bytes]) -> bytes:
        name = words[0].decode("latin-1").upper()
        fewest, most = FEWEST_AND_MOST.get(name, (1, 0))
        if not fewest <= len(words) - 1 <= most:
            return self.error("ERR unknown command or wrong number of arguments")
        try:
            return self.written(getattr(self, f"do_{name.lower()}")(*words[1:]))
        except WrongKind:
            return self.error("WRONGTYPE another kind of value")
        except Refused as refusal:
            return self.error(f"ERR {refusal}")

    # Answers.

    def error(self, text: str) -> bytes:
        return b"-%s\r\n" % text.encode()

    def written(self, value: object) -> bytes:
        if value is None:
            return b"$-1\r\n"
        if isinstance(value, str):
            return b"+%s\r\n" % value.encode()
        if isinstance(value, int):
            return b":%d\r\n" % value
        if isinstance(value, list):
            return b"*%d\r\n" % len(value) + b"".join(map(self.written, value))
        assert isinstance(value, bytes)
        return self.bulk(value)

    def bulk(self, value: bytes) -> bytes:
        return b"$%d\r\n%s\r\n" % (len(value), value)

    # Data.

    def find(self, key: bytes, kind: type) -> Any:
        value = self.data.get(key)
        if value is not None and not isinstance(value, kind):
            raise WrongKind
        return value

    def found(self, key: bytes, kind: type) -> Any:
        """The value, or a new one that is empty."""
        return self.find(key, kind) or kind()

    def keep(self, key: bytes, value: Any) -> None:
        if value or isinstance(value, bytes):
            self.data[key] = value
        else:
            self.forget(key)

    def forget(self, key: bytes) -> int:
        self.expiring.discard(key)
        return int(self.data.pop(key, None) is not None)

    # Commands about the server and about keys.

    def do_ping(self, word: bytes | None = None) -> object:
        return "PONG" if word is None else word

    def do_echo(self, word: bytes) -> object:
        return word

    def do_quit(self) -> object:
        self.is_over = True
        return "OK"

    def do_del(self, *keys: bytes) -> object:
        return sum(map(self.forget, keys))

    def do_exists(self, *keys: bytes) -> object:
        return sum(key in self.data for key in keys)

    def do_type(self, key: bytes) -> object:
        names: dict[type, str] = {bytes: "string", list: "list", set: "set", dict: "hash"}
        return names[type(self.data[key])] if key in self.data else "none"

    def do_rename(self, old: bytes, new: bytes) -> object:
        if old not in self.data:
            raise Refused("no such key")
        value, expires = self.data[old], old in self.expiring
        self.forget(old)
        self.forget(new)
        self.data[new] = value
        if expires:
            self.expiring.add(new)
        return "OK"

    def do_expire(self, key: bytes, seconds: bytes) -> object:
        if key not in self.data:
            return 0
        if int(seconds) <= 0:
            return self.forget(key)
        self.expiring.add(key)
        return 1

    def do_ttl(self, key: bytes) -> object:
        if key not in self.data:
            return -2
        return 99 if key in self.expiring else -1

    def do_persist(self, key: bytes) -> object:
        was_expiring = key in self.expiring
        self.expiring.discard(key)
        return int(was_expiring)

    # Commands about strings.

    def do_set(self, key: bytes, value: bytes, option: bytes = b"", seconds: bytes = b"") -> object:
        if (option.upper() == b"NX" and key in self.data) or (option.upper() == b"XX" and key not in self.data):
            return None
        self.forget(key)
        self.data[key] = value
        if seconds:
            self.expiring.add(key)
        return "OK"

    def do_get(self, key: bytes) -> object:
        return self.find(key, bytes)

    def do_append(self, key: bytes, value: bytes) -> object:
        self.keep(key, self.found(key, bytes) + value)
        return len(self.data[key])

    def do_strlen(self, key: bytes) -> object:
        return len(self.found(key, bytes))

    def do_getrange(self, key: bytes, first: bytes, last: bytes) -> object:
        value = self.found(key, bytes)
        begin, end = int(first), int(last)
        if begin < 0 and end < 0 and begin > end:
            return b""
        begin, end = (max(each + len(value), 0) if each < 0 else each for each in (begin, end))
        return value[begin : end + 1]

    def do_mget(self, *keys: bytes) -> object:
        values = [self.data.get(key) for key in keys]
        return [value if isinstance(value, bytes) else None for value in values]

    def do_incr(self, key: bytes) -> object:
        return self.add(key, 1)

    def do_decr(self, key: bytes) -> object:
        return self.add(key, -1)

    def do_incrby(self, key: bytes, amount: bytes) -> object:
        return self.add(key, int(amount))

    def do_decrby(self, key: bytes, amount: bytes) -> object:
        return self.add(key, -int(amount))

    def add(self, key: bytes, amount: int) -> int:
        value = self.find(key, bytes)
        old = self.number(b"0" if value is None else value)
        if not -LIMIT <= old + amount < LIMIT:
            raise Refused("increment or decrement would overflow")
        self.keep(key, b"%d" % (old + amount))
        return old + amount

    def number(self, text: bytes) -> int:
        if not text.removeprefix(b"-").isdigit() or b"%d" % int(text) != text or not -LIMIT <= int(text) < LIMIT:
            raise Refused("value is not an integer or out of range")
        return int(text)

    # Commands about lists.

    def do_lpush(self, key: bytes, *values: bytes) -> object:
        self.keep(key, [*reversed(values), *self.found(key, list)])
        return len(self.data[key])

    def do_rpush(self, key: bytes, *values: bytes) -> object:
        self.keep(key, [*self.found(key, list), *values])
        return len(self.data[key])

    def do_lpop(self, key: bytes) -> object:
        first, *rest = self.found(key, list) or [None]
        self.keep(key, rest)
        return first

    def do_rpop(self, key: bytes) -> object:
        *rest, last = self.found(key, list) or [None]
        self.keep(key, rest)
        return last

    def do_llen(self, key: bytes) -> object:
        return len(self.found(key, list))

    def do_lindex(self, key: bytes, index: bytes) -> object:
        items = self.found(key, list)
        return items[int(index)] if -len(items) <= int(index) < len(items) else None

    def do_lrange(self, key: bytes, first: bytes, last: bytes) -> object:
        items = self.found(key, list)
        begin, end = (int(each) + len(items) if int(each) < 0 else int(each) for each in (first, last))
        return items[max(begin, 0) : max(end + 1, 0)]

    # Commands about sets and hashes.

    def do_sadd(self, key: bytes, *values: bytes) -> object:
        members = self.found(key, set)
        self.keep(key, members | {*values})
        return len(self.data[key]) - len(members)

    def do_srem(self, key: bytes, *values: bytes) -> object:
        members = self.found(key, set)
        self.keep(key, members - {*values})
        return len(members & {*values})

    def do_sismember(self, key: bytes, value: bytes) -> object:
        return int(value in self.found(key, set))

    def do_scard(self, key: bytes) -> object:
        return len(self.found(key, set))

    def do_smembers(self, key: bytes) -> object:
        return sorted(self.found(key, set))

    def do_hset(self, key: bytes, field: bytes, value: bytes) -> object:
        fields = self.found(key, dict)
        self.keep(key, fields | {field: value})
        return int(field not in fields)

    def do_hget(self, key: bytes, field: bytes) -> object:
        return self.found(key, dict).get(field)

    def do_hdel(self, key: bytes, *names: bytes) -> object:
        fields = self.found(key, dict)
        left = {name: value for name, value in fields.items() if name not in names}
        self.keep(key, left)
        return len(fields) - len(left)

    def do_hlen(self, key: bytes) -> object:
        return len(self.found(key, dict))

    def do_hgetall(self, key: bytes) -> object:
        return [word for pair in self.found(key, dict).items() for word in pair]


if __name__ == "__main__":
    serve_streams([Store])
