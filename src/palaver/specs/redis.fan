# Redis by RESP2, its serialization protocol: strings, lists, sets and hashes, with a model of the data.
#
#     palaver talk redis --client 6379       tests the server that listens on port 6379
#     palaver talk redis --server 6379       tests the clients that connect to port 6379
#
# As a client, palaver touches keys that begin with `palaver:` only, and begins each session by removing them, so it can
# do no harm to other data. It leaves some of them behind. A server for a try is that of Debian (redis-server), which
# needs no configuration: `redis-server --port 6379 --save ''`.
#
# How to read the rules: <Client:get> is the message <get>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like.


# --- The session ------------------------------------------------------------------------------------------------------

<start>         ::= <clearing>{clearings()} <exchange>{fewest(),} <leaving>
<clearing>      ::= <Client:clear> <Server:integer>

# A request, and its answer. Which one is right depends on all that was stored before: see the model below.
<exchange>      ::= <about_server> | <about_key> | <about_string> | <about_number> | <about_list> | <about_set> | <about_hash>
<about_server>  ::= (<Client:ping> <Server:pong> | <Client:echo> <Server:bulk>
                   | <Client:mistaken> <Server:error> | <Client:strange> <Server:error>)
<about_key>     ::= (<Client:remove> <Server:integer> | <Client:count> <Server:integer> | <Client:kind> <Server:kind_answer>
                   | <Client:rename> <Server:rename_answer> | <Client:expire> <Server:integer>
                   | <Client:time_left> <Server:integer> | <Client:persist> <Server:integer>)
<about_string>  ::= (<Client:put> <Server:put_answer> | <Client:get> <Server:bulk_answer>
                   | <Client:append> <Server:number_answer> | <Client:length> <Server:number_answer>
                   | <Client:part> <Server:bulk_answer> | <Client:get_many> <Server:values>)
<about_number>  ::= (<Client:increase> | <Client:increase_by>) <Server:sum_answer>
<about_list>    ::= (<Client:push> <Server:number_answer> | <Client:pop> <Server:bulk_answer>
                   | <Client:list_length> <Server:number_answer> | <Client:list_item> <Server:bulk_answer>
                   | <Client:list_part> <Server:list_answer>)
<about_set>     ::= (<Client:add> <Server:number_answer> | <Client:discard> <Server:number_answer>
                   | <Client:contains> <Server:number_answer> | <Client:set_size> <Server:number_answer>
                   | <Client:members> <Server:list_answer>)
<about_hash>    ::= (<Client:field_put> <Server:number_answer> | <Client:field_get> <Server:bulk_answer>
                   | <Client:field_remove> <Server:number_answer> | <Client:hash_size> <Server:number_answer>
                   | <Client:fields> <Server:list_answer>)

<leaving>       ::= <Client:quit> <Server:ok> <Server:Client:connection_ended> | <Client:Server:connection_closed>
<connection_closed> ::= ""
<connection_ended> ::= ""


# --- What the client says: an array of bulk strings, the first of which is the name of a command -------------------------

<clear>         ::= b"*5\r\n$3\r\nDEL\r\n$9\r\npalaver:a\r\n$9\r\npalaver:b\r\n$9\r\npalaver:c\r\n$9\r\npalaver:d\r\n"
<ping>          ::= r"(\*1\r\n\$4\r\n)?(?i:PING)\r\n" | r"\*2\r\n\$4\r\n(?i:PING)\r\n" <value>
<echo>          ::= r"\*2\r\n\$4\r\n(?i:ECHO)\r\n" <value>

<remove>        ::= <many> r"\$3\r\n(?i:DEL)\r\n" <key>{int(<words>) - 1}
<count>         ::= <many> r"\$6\r\n(?i:EXISTS)\r\n" <key>{int(<words>) - 1}
<kind>          ::= r"\*2\r\n\$4\r\n(?i:TYPE)\r\n" <key>
<rename>        ::= r"\*3\r\n\$6\r\n(?i:RENAME)\r\n" <key> <key>
<expire>        ::= r"\*3\r\n\$6\r\n(?i:EXPIRE)\r\n" <key> <seconds>
<time_left>     ::= r"\*2\r\n\$3\r\n(?i:TTL)\r\n" <key>
<persist>       ::= r"\*2\r\n\$7\r\n(?i:PERSIST)\r\n" <key>

<put>           ::= (r"\*3\r\n\$3\r\n(?i:SET)\r\n" <string_key> <value> | r"\*4\r\n\$3\r\n(?i:SET)\r\n" <string_key> <value> <condition>
                   | r"\*5\r\n\$3\r\n(?i:SET)\r\n" <string_key> <value> r"\$2\r\n(?i:EX)\r\n" <long>)
<condition>     ::= r"\$2\r\n(?i:NX|XX)\r\n"
<get>           ::= r"\*2\r\n\$3\r\n(?i:GET)\r\n" <string_key>
<append>        ::= r"\*3\r\n\$6\r\n(?i:APPEND)\r\n" <string_key> <value>
<length>        ::= r"\*2\r\n\$6\r\n(?i:STRLEN)\r\n" <string_key>
<part>          ::= r"\*4\r\n\$8\r\n(?i:GETRANGE)\r\n" <string_key> <index> <index>
<get_many>      ::= <many> r"\$4\r\n(?i:MGET)\r\n" <key>{int(<words>) - 1}
<increase>      ::= r"\*2\r\n\$4\r\n(?i:INCR|DECR)\r\n" <string_key>
<increase_by>   ::= r"\*3\r\n\$6\r\n(?i:INCRBY|DECRBY)\r\n" <string_key> <amount>

<push>          ::= <many> r"\$5\r\n(?i:LPUSH|RPUSH)\r\n" <list_key> <value>{int(<words>) - 2}
<pop>           ::= r"\*2\r\n\$4\r\n(?i:LPOP|RPOP)\r\n" <list_key>
<list_length>   ::= r"\*2\r\n\$4\r\n(?i:LLEN)\r\n" <list_key>
<list_item>     ::= r"\*3\r\n\$6\r\n(?i:LINDEX)\r\n" <list_key> <index>
<list_part>     ::= r"\*4\r\n\$6\r\n(?i:LRANGE)\r\n" <list_key> <index> <index>

<add>           ::= <many> r"\$4\r\n(?i:SADD)\r\n" <set_key> <value>{int(<words>) - 2}
<discard>       ::= <many> r"\$4\r\n(?i:SREM)\r\n" <set_key> <value>{int(<words>) - 2}
<contains>      ::= r"\*3\r\n\$9\r\n(?i:SISMEMBER)\r\n" <set_key> <value>
<set_size>      ::= r"\*2\r\n\$5\r\n(?i:SCARD)\r\n" <set_key>
<members>       ::= r"\*2\r\n\$8\r\n(?i:SMEMBERS)\r\n" <set_key>

<field_put>     ::= r"\*4\r\n\$4\r\n(?i:HSET)\r\n" <hash_key> <value> <value>
<field_get>     ::= r"\*3\r\n\$4\r\n(?i:HGET)\r\n" <hash_key> <value>
<field_remove>  ::= <many> r"\$4\r\n(?i:HDEL)\r\n" <hash_key> <value>{int(<words>) - 2}
<hash_size>     ::= r"\*2\r\n\$4\r\n(?i:HLEN)\r\n" <hash_key>
<fields>        ::= r"\*2\r\n\$7\r\n(?i:HGETALL)\r\n" <hash_key>

<quit>          ::= r"(\*1\r\n\$4\r\n)?(?i:QUIT)\r\n"

# Too few arguments, and commands that are none of those above. To the latter we say no, whatever they are.
<mistaken>      ::= r"\*1\r\n\$(3\r\n(?i:GET|SET|DEL|TTL)|4\r\n(?i:INCR|LLEN|SADD|HGET))\r\n" | r"\*2\r\n\$3\r\n(?i:SET)\r\n" <key>
<strange>       ::= <many> <no_command> <bulk>{int(<words>) - 1}
<no_command>    ::= "$" <size> "\r\n" <no_name> "\r\n" := bulk(random.choice([b"GETT", b"XYZZY", b"palaver"]))
<no_name>       ::= rb"(?!(?i:DEL|PING|ECHO|EXISTS|TYPE|RENAME|EXPIRE|TTL|PERSIST|SET|GET|APPEND|STRLEN|GETRANGE|MGET|(IN|DE)CR(BY)?|[LR](PUSH|POP)|LLEN|LINDEX|LRANGE|SADD|SREM|SISMEMBER|SCARD|SMEMBERS|HSET|HGET|HDEL|HLEN|HGETALL|QUIT)\Z)[A-Za-z]{3,12}"

# How many bulk strings follow, and how many bytes are in one.
<many>          ::= "*" <words> "\r\n"
<words>         ::= r"[1-9][0-9]{0,5}" := random.choice(["3", "4", "4", "6"])
<bulk>          ::= "$" <size> "\r\n" rb"(?s:.)"{int(<size>)} "\r\n" := bulk(random.choice(VALUES))
<number>        ::= r"0|[1-9][0-9]{0,5}"
<size>          ::= r"0|[1-9][0-9]{0,7}"

<key>           ::= <bulk> := bulk(some_key())
<string_key>    ::= <bulk> := bulk(some_key(bytes))
<list_key>      ::= <bulk> := bulk(some_key(list))
<set_key>       ::= <bulk> := bulk(some_key(Set))
<hash_key>      ::= <bulk> := bulk(some_key(Hash))
<value>         ::= <bulk> := bulk(some_value())
<seconds>       ::= <bulk> := bulk(random.choice([b"100", b"100", b"0", b"-1"]))
<long>          ::= <bulk> := bulk(b"100")
<index>         ::= <bulk> := bulk(b"%d" % random.choice([0, 0, 1, 2, 5, -1, -1, -2, -6]))
<amount>        ::= <bulk> := bulk(b"%d" % random.choice([1, 10, -3, 0, 2 ** 62]))


# --- What the server says -----------------------------------------------------------------------------------------------

<ok>            ::= "+OK\r\n"
<pong>          ::= "+PONG\r\n" | <bulk>
<integer>       ::= r":(0|-?[1-9][0-9]{0,18})\r\n"
<nil>           ::= "$-1\r\n"
<values>        ::= "*" <number> "\r\n" (<bulk> | <nil>){int(<number>)}
<error>         ::= rb"-[A-Z]+( [^\r\n]*)?\r\n" := b"-ERR what?\r\n"
<wrong_kind>    ::= rb"-WRONGTYPE( [^\r\n]*)?\r\n" := b"-WRONGTYPE another kind of value\r\n"
<refusal>       ::= rb"-ERR( [^\r\n]*)?\r\n" := b"-ERR it cannot be done\r\n"

<kind_answer>   ::= "+none\r\n" | "+string\r\n" | "+list\r\n" | "+set\r\n" | "+hash\r\n"
<rename_answer> ::= <ok> | <refusal>
<put_answer>    ::= <ok> | <nil>
<bulk_answer>   ::= <bulk> | <nil> | <wrong_kind>
<number_answer> ::= <integer> | <wrong_kind>
<sum_answer>    ::= <integer> | <wrong_kind> | <refusal>
<list_answer>   ::= <values> | <wrong_kind>


# --- What must hold -----------------------------------------------------------------------------------------------------

where forall <m> in <no_command>: int(<m>.<size>) == len(bytes(<m>.<no_name>))

# Every answer of a server is that of the model, which is carried along.
where reduce(follow, *<exchange>, Data()).mistake == ""

# If we are the server ourselves, this is what we say.
where forall <e> in <exchange>: <e>.<about_server>.<pong> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<about_server>.<bulk> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<about_key>.<integer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<kind_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<rename_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<put_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<bulk_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<number_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<about_string>.<values> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<sum_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>..<list_answer> == due(<e>, *<exchange>)


# --- The data -----------------------------------------------------------------------------------------------------------

import copy
import random
import re
from functools import reduce

KEYS = [b"palaver:a", b"palaver:b", b"palaver:c", b"palaver:d"]
VALUES = [b"", b"1", b"-7", b"x", b"two words", b"9223372036854775807", b"007", b"\r\n\x00\xff", b"long" * 30]
MOST = 2 ** 63

def some_key(kind=object):
    """Mostly one whose value is of that kind, or that has none; but it may be any."""
    values = follow.state.values
    good = [key for key in values if isinstance(values[key], kind)]
    free = [key for key in KEYS if key not in values]
    return random.choice(random.choice([good or free or KEYS, good + free or KEYS, KEYS]))

def some_value():
    """One that is new, or one that is stored somewhere, so that it is found, removed or added again."""
    stored = [item for key in follow.state.values for item in items_of(follow.state.values[key])]
    return random.choice(random.choice([stored or VALUES, VALUES]))

def items_of(value):
    return [value] if isinstance(value, bytes) else list(value)

def bulk(value):
    return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)

def array(values):
    return b"*%d\r\n" % len(values) + b"".join(bulk(each) for each in values)

def integer(number):
    return b":%d\r\n" % number

OK, NIL, ERROR, WRONG_KIND = b"+OK\r\n", b"$-1\r\n", b"-ERR it cannot be done\r\n", b"-WRONGTYPE another kind\r\n"

class Kind(Exception):
    """The value is of another kind than the command is for."""

class Data:
    """The values by their keys (bytes, a list, a set as a dict of None, a hash as a dict), and which of them expire."""

    def __init__(self):
        self.values, self.expiring = {}, {}
        self.mistake = ""

    def __repr__(self):
        return "%r, %s" % (self.values, self.mistake or "nothing wrong")

    def do(self, words):
        """Carry a command out, and return its answer."""
        name, arguments = words[0].upper(), words[1:]
        if name not in COMMANDS or not COMMANDS[name].takes(len(arguments)):
            return ERROR
        try:
            return COMMANDS[name].function(self, *arguments)
        except Kind:
            return WRONG_KIND

    def value(self, key, kind):
        """The value of a key; if there is none, a new one of that kind, which is not stored yet."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, kind):
            raise Kind
        return kind() if value is None else value

    def store(self, key, value):
        """Empty lists, sets and hashes are not there, but an empty string is."""
        if value or isinstance(value, bytes):
            self.values[key] = value
        else:
            self.remove(key)

    def remove(self, key):
        self.expiring.pop(key, None)
        return 0 if self.values.pop(key, None) is None else 1

class Set(dict):
    """In the order in which things were added."""

class Hash(dict):
    pass

def span(length, first, last):
    """The slice from one index to another, both included, where negative ones count from the end."""
    first = max(first + length, 0) if first < 0 else first
    last = last + length if last < 0 else last
    return slice(first, max(last + 1, 0))

def do_ping(data, word=None):
    return b"+PONG\r\n" if word is None else bulk(word)

def do_echo(data, word):
    return bulk(word)

def do_del(data, *keys):
    return integer(sum(data.remove(key) for key in keys))

def do_exists(data, *keys):
    return integer(sum(key in data.values for key in keys))

def do_type(data, key):
    names = {bytes: b"string", list: b"list", Set: b"set", Hash: b"hash"}
    return b"+%s\r\n" % (names[data.values[key].__class__] if key in data.values else b"none")

def do_rename(data, old, new):
    if old not in data.values:
        return ERROR
    value, expires = data.values[old], old in data.expiring
    data.remove(old)
    data.remove(new)
    data.values[new] = value
    if expires:
        data.expiring[new] = True
    return OK

def do_expire(data, key, seconds):
    if key not in data.values:
        return integer(0)
    if int(seconds) > 0:
        data.expiring[key] = True
    else:
        data.remove(key)
    return integer(1)

def do_ttl(data, key):
    if key not in data.values:
        return integer(-2)
    return integer(100 if key in data.expiring else -1)

def do_persist(data, key):
    return integer(1 if data.expiring.pop(key, False) else 0)

def do_set(data, key, value, condition=b"", seconds=None):
    if condition.upper() == b"NX" and key in data.values or condition.upper() == b"XX" and key not in data.values:
        return NIL
    data.remove(key)
    data.values[key] = value
    if seconds is not None:
        data.expiring[key] = True
    return OK

def do_get(data, key):
    return bulk(data.value(key, bytes) if key in data.values else None)

def do_append(data, key, value):
    data.store(key, data.value(key, bytes) + value)
    return integer(len(data.values[key]))

def do_strlen(data, key):
    return integer(len(data.value(key, bytes)))

def do_getrange(data, key, first, last):
    value = data.value(key, bytes)
    if int(first) < 0 and int(last) < 0 and int(first) > int(last):
        return bulk(b"")
    # Here, but not in lists, an end before the beginning is the first byte.
    last = max(int(last) + len(value), 0) if int(last) < 0 else int(last)
    return bulk(value[span(len(value), int(first), last)])

def do_mget(data, *keys):
    strings = [data.values.get(key) for key in keys]
    return array([each if isinstance(each, bytes) else None for each in strings])

def add_to(data, key, amount):
    value = data.value(key, bytes) or (b"" if key in data.values else b"0")
    if not re.fullmatch(rb"0|-?[1-9][0-9]{0,18}", value):
        return ERROR
    total = int(value) + amount
    if not -MOST <= int(value) < MOST or not -MOST <= total < MOST:
        return ERROR
    data.store(key, b"%d" % total)
    return integer(total)

def do_incr(data, key):
    return add_to(data, key, 1)

def do_decr(data, key):
    return add_to(data, key, -1)

def do_incrby(data, key, amount):
    return add_to(data, key, int(amount))

def do_decrby(data, key, amount):
    return add_to(data, key, -int(amount))

def do_lpush(data, key, *values):
    data.store(key, list(reversed(values)) + data.value(key, list))
    return integer(len(data.values[key]))

def do_rpush(data, key, *values):
    data.store(key, data.value(key, list) + list(values))
    return integer(len(data.values[key]))

def do_lpop(data, key):
    items = data.value(key, list)
    data.store(key, items[1:])
    return bulk(items[0] if items else None)

def do_rpop(data, key):
    items = data.value(key, list)
    data.store(key, items[:-1])
    return bulk(items[-1] if items else None)

def do_llen(data, key):
    return integer(len(data.value(key, list)))

def do_lindex(data, key, index):
    items = data.value(key, list)
    return bulk(items[int(index)] if -len(items) <= int(index) < len(items) else None)

def do_lrange(data, key, first, last):
    items = data.value(key, list)
    return array(items[span(len(items), int(first), int(last))])

def do_sadd(data, key, *values):
    members = data.value(key, Set)
    before = len(members)
    data.store(key, Set(dict.fromkeys(list(members) + list(values))))
    return integer(len(data.values[key]) - before)

def do_srem(data, key, *values):
    members = data.value(key, Set)
    left = Set(dict.fromkeys(each for each in members if each not in values))
    data.store(key, left)
    return integer(len(members) - len(left))

def do_sismember(data, key, value):
    return integer(value in data.value(key, Set))

def do_scard(data, key):
    return integer(len(data.value(key, Set)))

def do_smembers(data, key):
    return array(list(data.value(key, Set)))

def do_hset(data, key, field, value):
    fields = data.value(key, Hash)
    is_new = field not in fields
    data.store(key, Hash(fields | {field: value}))
    return integer(is_new)

def do_hget(data, key, field):
    return bulk(data.value(key, Hash).get(field))

def do_hdel(data, key, *names):
    fields = data.value(key, Hash)
    left = Hash({each: fields[each] for each in fields if each not in names})
    data.store(key, left)
    return integer(len(fields) - len(left))

def do_hlen(data, key):
    return integer(len(data.value(key, Hash)))

def do_hgetall(data, key):
    fields = data.value(key, Hash)
    return array([word for each in fields for word in (each, fields[each])])

class Command:
    """A function of the model, and how many arguments the command may have."""

    def __init__(self, function, least, most):
        self.function, self.least, self.most = function, least, most

    def takes(self, count):
        return self.least <= count <= self.most

ONE_KEY = [do_type, do_ttl, do_persist, do_get, do_strlen, do_incr, do_decr, do_lpop, do_rpop, do_llen]
ONE_KEY = ONE_KEY + [do_scard, do_smembers, do_hlen, do_hgetall, do_echo]
TWO = [do_rename, do_expire, do_append, do_incrby, do_decrby, do_lindex, do_sismember, do_hget]
ANY = 100000
COMMANDS = {}

def know(functions, least, most):
    for each in functions:
        COMMANDS[each.__name__[3:].upper().encode()] = Command(each, least, most)

know(ONE_KEY, 1, 1)
know(TWO, 2, 2)
know([do_getrange, do_lrange, do_hset], 3, 3)
know([do_ping], 0, 1)
know([do_set], 2, 4)
know([do_del, do_exists, do_mget], 1, ANY)
know([do_lpush, do_rpush, do_sadd, do_srem, do_hdel], 2, ANY)

# What was asked and answered.

def split(exchange):
    """The words of a request, and the answer."""
    data = bytes(exchange)
    if data[:1] != b"*":
        line, _, answer = data.partition(b"\r\n")
        return line.split(), answer
    count, _, rest = data[1:].partition(b"\r\n")
    words = []
    for _ in range(int(count)):
        size, _, rest = rest[1:].partition(b"\r\n")
        words.append(rest[:int(size)])
        rest = rest[int(size) + 2:]
    return words, rest

def items(answer):
    """The elements of an array, or None if it is something else."""
    if answer[:1] != b"*":
        return None
    words, _ = split(answer.replace(b"$-1\r\n", b"$0\r\n\r\n"))
    return words

def agrees(words, expected, answer):
    """Whether an answer is as good as the expected one: sets have no order, time goes by, errors have any words."""
    name = words[0].upper()
    if expected[:1] == b"-":
        return answer.split()[0] == expected.split()[0] or expected == ERROR and answer[:1] == b"-"
    if name == b"SMEMBERS" and items(answer) is not None:
        return sorted(items(answer)) == sorted(items(expected))
    if name == b"HGETALL" and items(answer) is not None:
        told, wanted = items(answer), items(expected)
        return sorted(zip(told[::2], told[1::2])) == sorted(zip(wanted[::2], wanted[1::2]))
    if name == b"TTL" and expected == integer(100):
        return answer[:1] == b":" and 0 < int(answer[1:]) <= 100
    return answer == expected

def follow(data, exchange):
    """The data after an exchange, with what was wrong with the answer."""
    following = copy.deepcopy(data)
    if lacks_request(exchange):
        return following
    words, answer = split(exchange)
    expected = following.do(words)
    if not agrees(words, expected, answer):
        following.mistake = "expected something like %r" % expected
    return following

follow.state = Data()

def due(exchange, exchanges):
    """The answer in this exchange, if that agrees with the model; else that of the model."""
    if lacks_request(exchange):
        return bytes(exchange)
    if is_our_client():
        return split(exchange)[1]  # the answers are not ours
    data = Data()
    for each in exchanges:
        words, answer = split(each)
        expected = data.do(words)
        if each is exchange:
            return answer if answer and agrees(words, expected, answer) else expected

def lacks_request(exchange):
    """Whether only the messages of the server are made up or read."""
    return exchange.children[0].children[0].sender == "Server"

def clearings():
    """As a client, palaver begins with no keys."""
    return 1 if is_our_client() else 0

def fewest():
    """As a client, palaver has some things to ask. Others may be brief."""
    return 40 if is_our_client() else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:6379", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:6379", connection_mode=ConnectionMode.EXTERNAL)
