# POP3 (RFC 1939, with CAPA of RFC 2449): login, and the letters of a mailbox.
#
#     palaver talk pop3 --client 8110        tests the server that listens on port 8110
#     palaver talk pop3 --server 8110        tests the clients that connect to port 8110
#
# The server must have an account that may log in without encryption, and some letters for it, four say; which ones does
# not matter. As a client, palaver never deletes them for good: if it has marked some as deleted, it takes that back with
# RSET, or leaves without QUIT. A server for a try is Dovecot: `palaver specs pop3 --fixture DIR` makes its configuration.
#
# How to read the rules: <Client:stat> is the message <stat>, sent by the client. A rule with messages in it is a part of
# the session; all other rules tell what messages look like.


# --- Parameters -------------------------------------------------------------------------------------------------------

# `--set user=joe` sets one. What a rule gets from them stands above it.
USER = "the_user"  # [parameter] the account that logs in
PASSWORD = "the_password"  # [parameter] its password


# --- The session ------------------------------------------------------------------------------------------------------

<start>         ::= <Server:greeting> <stranger>

# First the client has to tell who it is. Most commands are refused until then.
<stranger>      ::= <inquiry>? <too_early>? <failure>? (<login> | <leaving>)
<inquiry>       ::= <Client:capa> <Server:capa_answer>
<too_early>     ::= (<Client:stat> | <Client:retr> | <Client:dele> | <Client:strange>) <Server:refused>
<login>         ::= <Client:user> <Server:done> <Client:password> <admission>
<admission>     ::= <Server:admitted> <visit> | <Server:busy> <leaving>

# A wrong name may be refused at once, or only together with its password.
<failure>       ::= (<Client:wrong_user> (<Server:refused> | <Server:done> <Client:wrong_pass> <Server:refused>)
                   | <Client:user> <Server:done> <Client:wrong_pass> <Server:refused>)

# Then it may look at its letters. Each of them has a number. Whether an answer is right depends on all before it: what
# was told of a letter once stays true, and a letter that is marked as deleted is not there any more, until RSET.
<visit>         ::= <exchange>{fewest(),} <leaving>
<exchange>      ::= (<Client:stat> <Server:stat_answer>
                   | <Client:list> <Server:list_answer>
                   | <Client:list_one> <Server:list_one_answer>
                   | <Client:retr> <Server:retr_answer>
                   | <Client:top> <Server:top_answer>
                   | <Client:uidl> <Server:uidl_answer>
                   | <Client:uidl_one> <Server:uidl_one_answer>
                   | <Client:dele> <Server:dele_answer>
                   | <Client:rset> <Server:done>
                   | <Client:noop> <Server:done>
                   | <Client:capa> <Server:capa_answer>
                   | <Client:strange> <Server:refused>)

# A client may leave as it likes, but only who says QUIT has deleted the letters that are marked. Then the server says
# goodbye, and closes the connection.
<leaving>       ::= <farewell> | <Client:Server:connection_closed>
<farewell>      ::= <Client:quit> <Server:bye> <Server:Client:connection_ended>


# --- What the client says ---------------------------------------------------------------------------------------------

# Commands can be written in small letters, too.
# [set by USER]
<user>          ::= r"(?i:USER) the_user" <crlf>
# [set by PASSWORD]
<password>      ::= r"(?i:PASS) the_password" <crlf>
<wrong_user>    ::= r"(?i:USER) " <other_name> <crlf>
<wrong_pass>    ::= r"(?i:PASS) " <other_secret> <crlf>
# [set by USER]
<other_name>    ::= rb"(?!the_user\Z)[!-~]{1,40}" := other_than(USER, [b"nobody", b"the_use", b"THE", b"x" * 40])
# [set by PASSWORD]
<other_secret>  ::= rb"(?!the_password\Z)[ -~]{1,40}" := other_than(PASSWORD, [b"guess", b"the_passwor", b"a b c", b"the_password "])
<stat>          ::= r"(?i:STAT)" <crlf>
<list>          ::= r"(?i:LIST)" <crlf>
<list_one>      ::= r"(?i:LIST) " <number> <crlf>
<retr>          ::= r"(?i:RETR) " <number> <crlf>
<dele>          ::= r"(?i:DELE) " <number> <crlf>
<noop>          ::= r"(?i:NOOP)" <crlf>
<rset>          ::= r"(?i:RSET)" <crlf>
<top>           ::= r"(?i:TOP) " <number> " " <lines> <crlf>
<uidl>          ::= r"(?i:UIDL)" <crlf>
<uidl_one>      ::= r"(?i:UIDL) " <number> <crlf>
<capa>          ::= r"(?i:CAPA)" <crlf>
<quit>          ::= r"(?i:QUIT)" <crlf> := quit()

# Numbers of letters are small here, so that those that are there are met often; but any number may be asked for.
<number>        ::= r"[0-9]{1,9}" := random.choice(["1", "2", "1", "2", "3", "4", "5", "0", "2147483647"])
<lines>         ::= r"[0-9]{1,9}" := random.choice(["0", "0", "1", "2", "3", "10", "1000"])

# What is none of these commands. Real clients try AUTH, APOP and STLS, which are left out here.
<strange>       ::= <no_command> r"( [ -~]{0,60})?" <crlf>
<no_command>    ::= rb"(?!(?i:USER|PASS|STAT|LIST|RETR|DELE|NOOP|RSET|TOP|UIDL|CAPA|QUIT)\Z)[A-Za-z]{3,10}" := random.choice(NO_COMMANDS)

NO_COMMANDS = [b"XYZZY", b"EHLO", b"RETRO", b"STA", b"SEND", b"HELP"]

<crlf>          ::= b"\r\n"


# --- What the server says ---------------------------------------------------------------------------------------------

# An answer begins with +OK or -ERR, in capitals. The words behind that are for people, and every server has its own.
<greeting>      ::= "+OK" <text> <crlf>
<done>          ::= "+OK" <text> <crlf>
<admitted>      ::= "+OK" <text> <crlf>
<bye>           ::= "+OK" <text> <crlf>
<refused>       ::= "-ERR" <text> <crlf>
<text>          ::= rb"( [^\r\n]{0,500})?" := random.choice([b"", b" very well", b" as you like it: 1 2 3", b" [x] <y>"])

# Servers take their time to refuse a password, and more each time. Dovecot then thinks about the right one, too.
MESSAGE_DEADLINES = {"<refused>": 40, "<admitted>": 40, "<busy>": 40}

# The right password may come while somebody else has the mailbox.
<busy>          ::= "-ERR " <obstacle> <crlf>
<obstacle>      ::= rb"[^\r\n]*(?i:IN-USE|LOGIN-DELAY|SYS/TEMP|lock|busy)[^\r\n]*" := b"[IN-USE] one at a time"

# Those who ask for one letter, or for all of them, get a line for each. The last line is a single dot.
<stat_answer>   ::= "+OK " <totals> <more> <crlf>
<list_one_answer> ::= "+OK " <scan> <crlf> | <refused>
<list_answer>   ::= "+OK" <text> <crlf> (<scan> <crlf>)* <end>
<scan>          ::= <number> " " <size> <more>
<uidl_one_answer> ::= "+OK " <identity> <crlf> | <refused>
<uidl_answer>   ::= "+OK" <text> <crlf> (<identity> <crlf>)* <end> | <refused>
<identity>      ::= <number> " " <unique_id>
<unique_id>     ::= rb"[!-~]{1,70}" := random.choice(UNIQUE_IDS)
<retr_answer>   ::= "+OK" <text> <crlf> <letter> <end> | <refused>
<top_answer>    ::= "+OK" <text> <crlf> <letter> <end> | <refused>
<dele_answer>   ::= <done> | <refused>
<totals>        ::= r"[0-9]{1,9} [0-9]{1,10}" := "%d %d" % (len(LETTERS), sum(map(size_of, LETTERS)))
<size>          ::= r"[0-9]{1,10}"
<more>          ::= rb"( [^\r\n]{0,400})?" := b""
<end>           ::= ".\r\n"

# A letter, line by line. So that no line is taken for the last one, a dot at the beginning of a line is doubled.
<letter>        ::= rb"((\.\.[^\r\n]*|[^.\r\n][^\r\n]*)?\r\n)*" := random.choice(LETTERS)

# Each line tells of an extension. A server need not know the command, nor TOP and UIDL.
<capa_answer>   ::= "+OK" <text> <crlf> (<capability> <crlf>)* <end> | <refused>
<capability>    ::= rb"[!-~]{1,80}( [!-~]{1,80})*" := random.choice(CAPABILITIES)

CAPABILITIES = [b"USER", b"TOP", b"UIDL", b"RESP-CODES", b"EXPIRE NEVER", b"IMPLEMENTATION palaver", b"X-WHATEVER 1 2"]

<connection_closed> ::= ""
<connection_ended> ::= ""


# --- What must hold ---------------------------------------------------------------------------------------------------

# Everything that a server tells agrees with what it told before. The mailbox that this makes is carried along.
where reduce(follow, *<exchange>, Mailbox()).mistake == ""

# If we are the server ourselves, this is what we say.
where forall <e> in <exchange>: <e>.<stat_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<list_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<list_one_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<retr_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<top_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<uidl_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<uidl_one_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<dele_answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<capa_answer> == due(<e>, *<exchange>)


# --- The mailbox ------------------------------------------------------------------------------------------------------

import copy
import random
from functools import reduce

# The letters that there are if nobody has told of others: when palaver is the server.
LETTERS = [
    b"From: <a@example.com>\r\nSubject: one\r\n\r\nHello.\r\n",
    b"From: <b@example.com>\r\nSubject: two\r\n\r\n..\r\n..a line with a dot\r\n\r\nthe last line\r\n",
    b"Subject: three\r\n\r\n",
    b"From: <d@example.com>\r\nSubject: four\r\n\r\n" + b"a line of many\r\n" * 40,
]
def other_than(value, guesses):
    return random.choice([guess for guess in guesses if guess != value.encode()])

UNIQUE_IDS = [b"first", b"!~", b"0123456789" * 7, b"4"]

def size_of(letter):
    """The doubled dots are on the wire only, and do not count."""
    return len(letter) - letter.count(b"\r\n..") - letter.startswith(b"..")

def top_of(letter, lines):
    """The head, the empty line behind it, and so many lines of the text."""
    head, empty, text = letter.partition(b"\r\n\r\n")
    if letter.startswith(b"\r\n"):
        head, empty, text = b"", b"\r\n", letter[2:]
    return head + empty + b"".join(text.splitlines(True)[:lines]) if empty else letter

def follow(mailbox, exchange):
    """What is known after an exchange, with what was wrong with the answer."""
    command, answer = split(exchange)
    following = copy.deepcopy(mailbox)
    if not mailbox.accepts(command, answer):
        following.mistake = "expected something like " + repr(mailbox.answer(command))
    else:
        following.hear(command, answer)
        if following.confuses_letters():
            following.mistake = "letters that differ have the same unique id"
    return following

def due(exchange, exchanges):
    """The answer in this exchange, if that agrees with what was told before; else one that does."""
    if is_our_client():
        return split(exchange)[1]  # the answers are not ours
    mailbox = Mailbox()
    for each in exchanges:
        command, answer = split(each)
        if each is exchange:
            return answer if mailbox.accepts(command, answer) else mailbox.answer(command)
        mailbox.hear(command, answer)

def quit():
    """As a client, palaver leaves all letters where they are: while some are marked, it has no such word."""
    return b"" if follow.state.marked and is_our_client() else random.choice([b"QUIT\r\n", b"quit\r\n"])

def fewest():
    """As a client, palaver has some things to ask. Others may be brief."""
    return 12 if is_our_client() else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()

def split(exchange):
    """Name and numbers of a command, and the answer."""
    line, _, answer = bytes(exchange).partition(b"\r\n")
    name, *numbers = line.upper().split()
    return (name, *(int(each) for each in numbers if each.isdigit())), answer

class Mailbox:
    """What is known of the letters, by their numbers, from all that the server has told."""

    def __init__(self):
        self.count, self.total = None, None  # of all letters, marked or not
        self.least, self.most = 0, 10 ** 9  # so many letters there are if nobody has told
        self.sizes, self.ids, self.letters, self.tops = {}, {}, {}, {}
        self.marked = set()
        self.known = set()  # optional commands that there are
        self.mistake = ""

    def __repr__(self):
        told = {"sizes": self.sizes, "ids": self.ids, "marked": self.marked, "count": self.count, "total": self.total}
        return ", ".join([*("%s %r" % each for each in told.items() if each[1]), self.mistake or "nothing wrong"])

    def may_exist(self, number):
        return number not in self.marked and 1 <= number <= self.most

    def lacks(self, number):
        return number in self.marked or number < 1 or number > self.least

    def numbers(self, count):
        return [number for number in range(1, count + 1) if number not in self.marked]

    # What was told.

    def hear(self, command, answer):
        name, *rest = command
        number = rest[0] if rest else 0
        is_good = answer.startswith(b"+OK")
        if name == b"RSET":
            self.marked = set()
        if name not in ABOUT_LETTERS:
            return  # the numbers in it are those of no letters
        if name in OPTIONAL and is_good:
            self.known = self.known | {name} | announced(answer)
        if number and is_good:
            self.least = max(self.least, number)
        if number and not is_good and number not in self.marked and name not in OPTIONAL:
            self.most = min(self.most, number - 1)
        if not is_good:
            return
        if name == b"STAT":
            count, size = (int(each) for each in answer.split()[1:3])
            self.told_count(count + len(self.marked))
            gone = [self.sizes.get(each) for each in self.marked]
            self.total = None if None in gone else size + sum(gone)
        elif name == b"LIST":
            self.sizes.update(sizes_in(answer, number))
            if not number:
                self.told_count(len(pairs(answer, 0)) + len(self.marked))
        elif name == b"UIDL":
            self.ids.update(pairs(answer, number))
        elif name == b"DELE":
            self.marked = self.marked | {number}
        elif name == b"RETR":
            self.letters[number] = text_of(answer)
            self.sizes[number] = size_of(text_of(answer))
        elif name == b"TOP":
            self.tops[command] = text_of(answer)

    def told_count(self, count):
        self.count = self.least = self.most = count

    # What may be told.

    def accepts(self, command, answer):
        name, *rest = command
        number = rest[0] if rest else 0
        if name not in ABOUT_LETTERS:
            return True
        if answer.startswith(b"-ERR"):
            if name in OPTIONAL and name not in self.known:
                return True
            return bool(rest) and self.lacks(number)
        if rest and not self.may_exist(number):
            return False
        if name == b"STAT":
            return self.accepts_count(*(int(each) for each in answer.split()[1:3]))
        if name == b"LIST":
            told = sizes_in(answer, number)
            return self.accepts_all(told, self.sizes, number) and (number > 0 or self.accepts_sizes(told))
        if name == b"UIDL":
            told = pairs(answer, number)
            is_ours = all(row[1] not in UNIQUE_IDS or UNIQUE_IDS.index(row[1]) + 1 == row[0] for row in told)
            return (is_ours or is_our_client()) and self.accepts_all(told, self.ids, number)
        if name == b"RETR":
            return self.accepts_letter(number, text_of(answer))
        if name == b"TOP":
            return self.accepts_top(*rest, text_of(answer))
        return True

    def accepts_count(self, count, size):
        all_letters = count + len(self.marked)
        if not self.least <= all_letters <= self.most:
            return False
        sizes = [self.sizes.get(each) for each in self.numbers(all_letters)]
        gone = [self.sizes.get(each) for each in self.marked]
        if None not in sizes and size != sum(sizes):
            return False
        return self.total is None or None in gone or size == self.total - sum(gone)

    def accepts_all(self, told, known, number):
        """Every letter that is there, once, and each as it was."""
        numbers = [row[0] for row in told]
        if number:
            is_complete = numbers == [number]
        else:
            count = len(numbers) + len(self.marked)
            is_complete = sorted(numbers) == self.numbers(count) and self.least <= count <= self.most
        return is_complete and all(known.get(*row) == row[1] for row in told)

    def accepts_sizes(self, told):
        gone = [self.sizes.get(each) for each in self.marked]
        return self.total is None or None in gone or sum(row[1] for row in told) == self.total - sum(gone)

    def confuses_letters(self):
        """Only copies of one letter may have the same unique id (RFC 1939, 7)."""
        seen = {}
        return any(self.differ(number, seen.setdefault(self.ids[number], number)) for number in self.ids)

    def differ(self, *numbers):
        return any(len({known[each] for each in numbers if each in known}) > 1 for known in (self.sizes, self.letters))

    def accepts_letter(self, number, letter):
        if letter in LETTERS and LETTERS.index(letter) + 1 != number and not is_our_client():
            return False
        tops = [command for command in self.tops if command[1] == number]
        return (
            self.letters.get(number, letter) == letter
            and self.sizes.get(number, size_of(letter)) == size_of(letter)
            and all(top_of(letter, command[2]) == self.tops[command] for command in tops)
        )

    def accepts_top(self, number, lines, top):
        if number in self.letters:
            return top == top_of(self.letters[number], lines)
        is_ours = [top_of(letter, lines) == top for letter in LETTERS]
        is_fitting = not any(is_ours) or 0 < number <= len(LETTERS) and is_ours[number - 1] or is_our_client()
        return top_of(top, lines) == top and is_fitting

    # What could be told instead.

    def answer(self, command):
        name, *rest = command
        number = rest[0] if rest else 0
        count = self.count if self.count is not None else max(self.least, min(self.most, len(LETTERS)))
        letters = {each: self.letter(each) for each in self.numbers(count)}
        sizes = {each: self.sizes.get(each, size_of(letters[each])) for each in letters}
        if rest and number not in letters:
            return b"-ERR no such letter\r\n"
        if name == b"STAT":
            return b"+OK %d %d\r\n" % (len(letters), sum(sizes.values()))
        if name == b"LIST":
            return listing(sizes, number)
        if name == b"UIDL":
            return listing({each: self.ids.get(each, self.unique_id(each)) for each in letters}, number)
        if name == b"RETR":
            return b"+OK\r\n" + letters[number] + b".\r\n"
        if name == b"TOP":
            return b"+OK\r\n" + top_of(letters[number], rest[1]) + b".\r\n"
        return b"+OK\r\n"

    def letter(self, number):
        return self.letters.get(number) or LETTERS[(number - 1) % len(LETTERS)]

    def unique_id(self, number):
        return UNIQUE_IDS[number - 1] if number <= len(UNIQUE_IDS) else b"id%d" % number

follow.state = Mailbox()

OPTIONAL = {b"TOP", b"UIDL", b"CAPA"}
ABOUT_LETTERS = {b"STAT", b"LIST", b"RETR", b"DELE"} | OPTIONAL

def announced(answer):
    lines = answer.split(b"\r\n")[1:]
    return {line.split()[0].upper() for line in lines if line.split()[:1] and line.split()[0].upper() in OPTIONAL}

def pairs(answer, number):
    """What a listing tells of each letter, or of the one that was asked for."""
    first, *lines = answer.split(b"\r\n")
    rows = [first.split()[1:3]] if number else [line.split()[:2] for line in lines[:-2]]
    return [(int(row[0]), row[1]) for row in rows]

def sizes_in(answer, number):
    return [(row[0], int(row[1])) for row in pairs(answer, number)]

def as_bytes(value):
    return value if isinstance(value, bytes) else b"%d" % value

def listing(values, number):
    told = [b"%d %s" % (key, as_bytes(values[key])) for key in values]
    if number:
        return b"+OK %s\r\n" % told[list(values).index(number)]
    return b"+OK\r\n" + b"".join(each + b"\r\n" for each in told) + b".\r\n"

def text_of(answer):
    return answer.partition(b"\r\n")[2][:-3]


# --- Parties ----------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:110", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:110", connection_mode=ConnectionMode.EXTERNAL)


# --- What is no part of the session -----------------------------------------------------------------------------------

# For `palaver talk --beyond`; the first of these that fits decides. A server must say -ERR to what it does not know, to
# what is malformed, and to what is said in the wrong state (RFC 1939, 3), and nothing changes by that. It may hang up on
# those who make mistakes, and say so, as Dovecot does. USER may be said again (7), and extensions may allow the rest of
# <allowed> (RFC 2449, 1734). A PASS with something odd behind it may be taken for a try, and then the name is needed
# again: PASS comes immediately after USER (7).
<beyond>        ::= <unasked> | <allowed> | <about_mail> | <unknown> | <malformed>
<unasked>       ::= <Client:any_pass> <not_taken>
<allowed>       ::= <Client:any_at_any_time> | <Client:any_user> | <Client:any_try>
<about_mail>    ::= <Client:any_about_mail> <not_taken>
<unknown>       ::= <Client:any_unknown> <not_taken>
<malformed>     ::= <Client:any_line> (<not_taken> | <Server:hung_up>)
<not_taken>     ::= <Server:negative> (<Server:given_up>? <Server:hung_up>)?
<any_at_any_time> ::= rb"(?i:QUIT|CAPA|STLS|UTF8( [!-~]+)*|LANG( [!-~]+)*|AUTH( [!-~]+)*|APOP [ -~]+|XTND [ -~]+|X[A-Z]+( [ -~]*)?)" b"\r\n"
<any_user>      ::= rb"(?i:USER) [ -~]+" b"\r\n"
<any_pass>      ::= rb"(?i:PASS) [ -~]+" b"\r\n"
<any_try>       ::= rb"(?i:PASS)([^A-Za-z\r\n][^\r\n]*)?" b"\r\n"
<any_about_mail> ::= rb"(?i:STAT|NOOP|RSET|(LIST|UIDL)( [0-9]+)?|(RETR|DELE) [0-9]+|TOP [0-9]+ [0-9]+) *" b"\r\n"
<any_unknown>   ::= rb"(?!(?i:USER|PASS|STAT|LIST|RETR|DELE|NOOP|RSET|TOP|UIDL|CAPA|QUIT)( |\r))[A-Za-z]{3,10}( [ -~]{0,60})?" b"\r\n"
<any_line>      ::= rb"[^\r\n]*" b"\r\n"
<negative>      ::= rb"-ERR( [^\r\n]*)?" b"\r\n"
<given_up>      ::= rb"-ERR [^\r\n]*(?i:too many|disconnect|closing|bye)[^\r\n]*" b"\r\n"
<hung_up>       ::= ""
