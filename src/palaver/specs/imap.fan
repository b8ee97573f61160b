# IMAP4rev1 (RFC 3501, with IDLE of RFC 2177; what RFC 9051 changed is accepted): mailboxes on a server, and their letters.
#
#     palaver talk imap --client 8143        tests the server that listens on port 8143
#     palaver talk imap --server 8143        tests the clients that connect to port 8143
#
# The server must have an account that may log in without encryption. As a client, palaver deletes the mailbox `palaver`
# and makes it anew in each session, and only looks at others. So one session at a time: two would take it from each
# other. A server for a try is Dovecot: `palaver specs imap --fixture DIR` makes its configuration.
#
# How to read the rules: <Client:fetch> is the message <fetch>, sent by the client. A rule with messages in it is a part
# of the session; all other rules tell what messages look like.


# --- Parameters -------------------------------------------------------------------------------------------------------

# `--set user=joe` sets one. What a rule gets from them stands above it.
USER = "the_user"  # [parameter] the account that logs in
PASSWORD = "the_password"  # [parameter] its password
MAILBOX = "palaver"  # [parameter] the mailbox that is made anew in each session


# --- The session ------------------------------------------------------------------------------------------------------

<start>         ::= <Server:greeting> <stranger>

# A client begins each command with a tag. The answer may have many lines; the last one begins with the same tag, and says
# whether all went well. First the client has to tell who it is, and nearly everything is refused until then.
<stranger>      ::= <early>{0,2} <visit>{visits(),1} <leaving>
<early>         ::= (<Client:capability> <Server:abilities_told> | <Client:noop> <Server:ok> | <Client:strange> <Server:refused>
                   | <Client:fetch> <Server:refused> | <Client:select> <Server:refused> | <Client:wrong_login> <Server:refused>)
<visit>         ::= <login> <setup>{visits()} (<exchange> <Server:news>{0,most_news()}){fewest(),}
<login>         ::= <Client:right_login> <Server:admitted>

# As a client, palaver makes a mailbox with two letters in it first. So it knows what is there.
<setup>         ::= <removing> <Server:news>{0,most_news()} <making> <Server:news>{0,most_news()} <filling_1> <Server:news>{0,most_news()} <filling_2> <Server:news>{0,most_news()} <opening> <Server:news>{0,most_news()}
<removing>      ::= <Client:remove> <Server:answer>
<making>        ::= <Client:make> <Server:ok>
<filling_1>     ::= <Client:fill_1> <Server:go_on> <Client:letter_1> <Server:ok>
<filling_2>     ::= <Client:fill_2> <Server:go_on> <Client:letter_2> <Server:ok>
<opening>       ::= <Client:open> <Server:ok>

# Then it works with its mailboxes. Whether an answer is right depends on all before it: see the model below. A server may
# tell news whenever it likes (RFC 3501, 7): behind a command they are part of its answer, else they stand alone.
<exchange>      ::= <about_server> | <about_mailboxes> | <about_letters> | <idling> | <appending>
<about_server>  ::= <Client:capability> <Server:abilities_told> | <Client:noop> <Server:answer> | (<Client:strange> | <Client:mistaken>) <Server:refused>
<about_mailboxes> ::= (<Client:select> | <Client:create> | <Client:delete> | <Client:list> | <Client:status>) <Server:answer>
<about_letters> ::= (<Client:fetch> | <Client:uid_fetch> | <Client:store> | <Client:uid_store> | <Client:search>
                   | <Client:uid_search> | <Client:expunge> | <Client:close>) <Server:answer>

# A text of many lines is announced with its number of bytes. The client sends it when the server is ready for it.
<appending>     ::= <Client:append> <Server:go_on> <Client:letter> <Server:answer> | <losing>
<losing>        ::= <Client:lost_append> (<Server:go_on> <Client:letter> <Server:refused> | <Server:refused>)

# IDLE is a command that lasts until the client has enough of it.
<idling>        ::= <Client:idle> (<Server:go_on> <Server:news>{0,most_news()} <Client:enough> <Server:answer> | <Server:refused>)

# Who leaves is told so, and then the server closes the connection.
<leaving>       ::= <farewell> | <Client:Server:connection_closed>
<farewell>      ::= <Client:logout> <Server:bye> <Server:Client:connection_ended>
<connection_closed> ::= ""
<connection_ended> ::= ""


# --- What the client says ---------------------------------------------------------------------------------------------

# Any tag will do that has no special characters in it. Commands can be written in small letters, too.
<tag>           ::= rb"[A-Za-z0-9.!#$&',/:;<=>?@^_`|~-]{1,40}" := b"%c%d" % (random.randrange(97, 123), random.randrange(10000))
<crlf>          ::= b"\r\n"

<capability>    ::= <tag> r" (?i:CAPABILITY)" <crlf>
<noop>          ::= <tag> r" (?i:NOOP|CHECK)" <crlf> := random.choice([b"n%d NOOP\r\n", b"n%d noop\r\n"]) % random.randrange(10000)
<logout>        ::= <tag> r" (?i:LOGOUT)" <crlf>

# Words may be quoted.
<right_login>   ::= <tag> r" (?i:LOGIN) " <right_user> " " <right_secret> <crlf>
# [set by USER]
<right_user>    ::= "the_user" | "\"the_user\""
# [set by PASSWORD]
<right_secret>  ::= "the_password" | "\"the_password\""
<wrong_login>   ::= <tag> r" (?i:LOGIN) " (<other_user> " " <any_secret> | <right_user> " " <other_secret>) <crlf>
# [set by USER]
<other_user>    ::= rb'(?!"?the_user"?\Z)([!#$&-\'+-\[\]-z|}~]{1,40}|"[ !#-\[\]-~]{0,40}")' := other_than(USER, [b"nobody", b"the_use", b'"a b"'])
<any_secret>    ::= rb'[!#$&-\'+-\[\]-z|}~]{1,40}|"[ !#-\[\]-~]{0,40}"' := random.choice([b"guess", b'""'])
# [set by PASSWORD]
<other_secret>  ::= rb'(?!"?the_password"?\Z)([!#$&-\'+-\[\]-z|}~]{1,40}|"[ !#-\[\]-~]{0,40}")' := other_than(PASSWORD, [b"guess", b'"the_passwor"', b"THE_PASSWORD"])

# The mailbox of each session of ours.
# [set by MAILBOX]
<remove>        ::= <tag> " DELETE palaver" <crlf>
# [set by MAILBOX]
<make>          ::= <tag> " CREATE palaver" <crlf>
# [set by MAILBOX]
<fill_1>        ::= <tag> " APPEND palaver (\\Flagged) {45}" <crlf>
<letter_1>      ::= b"From: a@example.com\r\nSubject: one\r\n\r\nHello.\r\n" <crlf>
# [set by MAILBOX]
<fill_2>        ::= <tag> " APPEND palaver {37}" <crlf>
<letter_2>      ::= b"Subject: two\r\n\r\nTwo\r\nlines of text.\r\n" <crlf>
# [set by MAILBOX]
<open>          ::= <tag> " SELECT palaver" <crlf>

<select>        ::= <tag> r" (?i:SELECT|EXAMINE) " <mailbox> <crlf> := some_selection()
<create>        ::= <tag> r" (?i:CREATE) " <mailbox> <crlf> := b"c%d CREATE %s\r\n" % (random.randrange(10000), random.choice([MAILBOX.encode(), b"inbox"]))
<delete>        ::= <tag> r" (?i:DELETE) " <mailbox> <crlf> := b"d%d DELETE %s\r\n" % (random.randrange(10000), random.choice([b"palaver-none", b"Inbox"]))
<list>          ::= <tag> r" (?i:LIST) " <mailbox> " " <pattern> <crlf> := b'l%d LIST "" %s\r\n' % (random.randrange(10000), some_pattern())
<pattern>       ::= rb'"[^"\r\n\\]*"|[^ "(){\r\n\\]+'
<status>        ::= <tag> r" (?i:STATUS) " <mailbox> r" \((?i:MESSAGES|RECENT|UIDNEXT|UIDVALIDITY|UNSEEN)" r"( (?i:MESSAGES|RECENT|UIDNEXT|UIDVALIDITY|UNSEEN)){0,4}" ")" <crlf>
<mailbox>       ::= rb'"[^"\r\n\\]*"|[^ "(){%*\r\n\\]+' := some_mailbox()
<append>        ::= <tag> r" (?i:APPEND) " <own_mailbox> " " (<flags> " ")? (<date_time> " ")? "{" <size> "}" <crlf>
<own_mailbox>   ::= rb'(?!palaver-none\Z)("[^"\r\n\\]*"|[^ "(){%*\r\n\\]+)' := random.choice([MAILBOX.encode(), b'"%s"' % MAILBOX.encode()])
<lost_append>   ::= <tag> r" (?i:APPEND) palaver-none " (<flags> " ")? "{" <size> "}" <crlf>
<letter>        ::= rb"(?s:.*)\r\n" := random.choice(LETTERS) + b"\r\n"
<size>          ::= r"0|[1-9][0-9]{0,8}" := str(len(random.choice(LETTERS)))
<date_time>     ::= rb'"[ 0-3][0-9]-[A-Z][a-z]{2}-[0-9]{4} [0-9:]{8} [+-][0-9]{4}"' := b'"%02d-Feb-2021 12:34:56 +0000"' % random.randrange(1, 29)

# Letters are named by their places, or by the unique numbers that they keep: one, several, or a range of them.
<fetch>         ::= <tag> r" (?i:FETCH) " <places> " " <items> <crlf>
<uid_fetch>     ::= <tag> r" (?i:UID FETCH) " <uids> " " <items> <crlf>
<items>         ::= rb"[^ \r\n{}][^\r\n{}]*" := random.choice(ITEMS)
<store>         ::= <tag> r" (?i:STORE) " <places> " " <change> <crlf>
<uid_store>     ::= <tag> r" (?i:UID STORE) " <uids> " " <change> <crlf>
<change>        ::= r"(?i:[+-]?FLAGS(\.SILENT)?) " <flags>
<flags>         ::= rb"\((\\?[A-Za-z$*]+( \\?[A-Za-z$*]+)*)?\)" := b"(" + b" ".join(random.sample(FLAGS, random.choice([1, 1, 1, 2, 0]))) + b")"
<search>        ::= <tag> r" (?i:SEARCH) " <criteria> <crlf>
<uid_search>    ::= <tag> r" (?i:UID SEARCH) " <criteria> <crlf>
<criteria>      ::= rb"[^ \r\n{}][^\r\n{}]*" := some_criteria()
<expunge>       ::= <tag> r" (?i:EXPUNGE)" <crlf>
<close>         ::= <tag> r" (?i:CLOSE)" <crlf>
<places>        ::= r"([0-9]+|\*)(:([0-9]+|\*))?(,([0-9]+|\*)(:([0-9]+|\*))?)*" := some_places()
<uids>          ::= r"([0-9]+|\*)(:([0-9]+|\*))?(,([0-9]+|\*)(:([0-9]+|\*))?)*" := some_uids()
<idle>          ::= <tag> r" (?i:IDLE)" <crlf>
<enough>        ::= r"(?i:DONE)" <crlf>

# Commands with too few arguments, or wrong ones, and what is none of these commands.
<mistaken>      ::= <tag> <mistake> <crlf>
<mistake>       ::= " STATUS inbox" | " FETCH 1" | " STORE 1" | " SEARCH" | " UID" | " UID EXPLODE 1" | " FETCH (1) FLAGS" | " STATUS inbox ()"
<strange>       ::= <tag> " " <no_command> r"( [ -z|~]{0,200})?" <crlf>
<no_command>    ::= rb"(?!(?i:CAPABILITY|NOOP|CHECK|LOGOUT|LOGIN|SELECT|EXAMINE|CREATE|DELETE|LIST|STATUS|APPEND|FETCH|UID|STORE|SEARCH|EXPUNGE|CLOSE|IDLE)\Z)[A-Za-z0-9]{3,20}" := random.choice([b"XYZZY", b"FETCHED", b"LOG", b"EHLO"])


# --- What the server says ---------------------------------------------------------------------------------------------

<greeting>      ::= "* " <yes> <text> <crlf>
<go_on>         ::= "+" <text> <crlf>
<ok>            ::= <data> <tag> " " <yes> <text> <crlf>
<admitted>      ::= <data> <tag> " " <yes> <text> <crlf>
<refused>       ::= <data> <tag> " " <nay> <text> <crlf>
<answer>        ::= <ok> | <refused>
<bye>           ::= <data> <goodbye> <text> <crlf> <data> <tag> " " <yes> <text> <crlf>
<abilities_told> ::= <abilities> <tag> " " <yes> <text> <crlf>
<goodbye>       ::= r"\* (?i:BYE)" := "* BYE"
<abilities>     ::= <untagged>* := b"* CAPABILITY IMAP4rev1 IDLE\r\n"
<yes>           ::= r"(?i:OK)" := "OK"
<nay>           ::= r"(?i:NO|BAD)" := random.choice(["NO", "BAD"])
<text>          ::= rb"( [^\r\n]*)?" := random.choice([b" done", b" as you like it", b" [x] (1 2"])
<news>          ::= <untagged> := b"* OK still here\r\n"

# Servers take their time to refuse a password, more each time, and then also to accept one.
MESSAGE_DEADLINES = {"<refused>": 40, "<admitted>": 40}

# Data comes in lines that begin with a star.
<data>          ::= <untagged>* := b""
<untagged>      ::= "* " <datum> <crlf>
<datum>         ::= <remark> | <number> | <fetched> | <found> | <listed> | <counted> | <known_flags> | <known_abilities>
<remark>        ::= r"(?i:OK|NO|BAD)" <text>
<number>        ::= r"[0-9]{1,10} (?i:EXISTS|RECENT|EXPUNGE)"
<fetched>       ::= r"[0-9]{1,10} (?i:FETCH) " <values>
<found>         ::= r"(?i:SEARCH)( [0-9]{1,10})*" " "?
<listed>        ::= r"(?i:LIST) \((\\[A-Za-z]+( \\[A-Za-z]+)*)?\) " (r'"[^"\r\n]+"' | r"(?i:NIL)") " " (<quoted> | <word> | <literal>) (" " <values>)?
<counted>       ::= r"(?i:STATUS) " (<quoted> | <word> | <literal>) " " <values> " "?
<known_flags>   ::= r"(?i:FLAGS) " <values>
<known_abilities> ::= r"(?i:CAPABILITY)( [!-~]+)+"

# Values are words, texts in quotes, texts of a given number of bytes, and lists of values.
<values>        ::= "(" (<value> (" " <value>)*)? ")"
<value>         ::= <word> | <quoted> | <literal> | <values>
<word>          ::= rb"[^ (){\"\[\]\r\n]+(\[[^\]\r\n]*\](<[0-9]+>)?)?"
<quoted>        ::= rb'"([^"\\\r\n]|\\["\\])*"'
<literal>       ::= "{" <size> "}" <crlf> rb"(?s:.)"{int(<size>)}


# --- What must hold ---------------------------------------------------------------------------------------------------

# Whoever answers tells the tag of the command. (In an exchange, the model sees to that.)
where forall <e> in <early>: <e>.<ok>.<tag> == <e>[0].<tag>
where forall <e> in <early>: <e>.<refused>.<tag> == <e>[0].<tag>
where forall <e> in <early>: <e>.<abilities_told>.<tag> == <e>[0].<tag>
where forall <l> in <login>: <l>.<admitted>.<tag> == <l>.<right_login>.<tag>
where forall <r> in <removing>: <r>.<answer>..<tag> == <r>.<remove>.<tag>
where forall <m> in <making>: <m>.<ok>.<tag> == <m>.<make>.<tag>
where forall <f> in <filling_1>: <f>.<ok>.<tag> == <f>.<fill_1>.<tag>
where forall <f> in <filling_2>: <f>.<ok>.<tag> == <f>.<fill_2>.<tag>
where forall <o> in <opening>: <o>.<ok>.<tag> == <o>.<open>.<tag>
where forall <f> in <farewell>: <f>.<bye>.<tag> == <f>.<logout>.<tag>
where forall <a> in <abilities>: b"* CAPABILITY IMAP4REV" in bytes(<a>).upper()

# A text has the size that was announced, and ends with an empty line.
where forall <a> in <appending>: len(bytes(<a>.<letter>)) == int(<a>.<append>.<size>) + 2
where forall <l> in <losing>: len(bytes(<l>.<letter>)) == int(<l>.<lost_append>.<size>) + 2

# Everything that a server tells agrees with what was done and told before. What is known is carried along.
where reduce(follow, *<exchange>, Account()).mistake == ""

# If we are the server ourselves, this is what we say.
where forall <e> in <exchange>: <e>..<answer> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<about_server>.<refused> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<appending>.<losing>.<refused> == due(<e>, *<exchange>)
where forall <e> in <exchange>: <e>.<idling>.<refused> == due(<e>, *<exchange>)
where forall <a> in <about_server>: <a>.<abilities_told>.<tag> == <a>.<capability>.<tag>


# --- The letters that we send, and what we ask for ---------------------------------------------------------------------

import copy
import datetime
import random
import re
from functools import reduce

# No two of them have the same size.
LETTERS = [
    b"From: a@example.com\r\nSubject: one\r\n\r\nHello.\r\n",
    b"Subject: two\r\n\r\nTwo\r\nlines of text.\r\n",
    b"From: c@example.com\r\nTo: d@example.com\r\nSubject: three\r\n\r\n",
    b"Subject: four\r\nFrom: d@example.com\r\n\r\n" + b"a line of many (\"{5}\r\n" * 20,
]
FLAGS = [b"\\Seen", b"\\Deleted", b"\\Flagged", b"\\Answered", b"\\Draft"]
ITEMS = [
    b"FLAGS", b"UID", b"(UID FLAGS)", b"RFC822.SIZE", b"(INTERNALDATE RFC822.SIZE)", b"FAST", b"ALL", b"ENVELOPE", b"BODY[]",
    b"BODY.PEEK[]", b"(FLAGS BODY.PEEK[HEADER])", b"BODY[TEXT]", b"BODY.PEEK[]<0.20>", b"BODY.PEEK[TEXT]<5.1000>",
    b"BODY[HEADER]<1000.5>", b"RFC822.HEADER", b"RFC822", b"(UID BODY.PEEK[HEADER.FIELDS (SUBJECT X-NONE)])", b"(BODY.PEEK[1] UID)",
]
PLACES = [b"1", b"2", b"3", b"1:2", b"1:*", b"*", b"2,1", b"3:2", b"1:3,2", b"9"]
CRITERIA = [
    b"ALL", b"SEEN", b"UNSEEN", b"DELETED", b"UNDELETED", b"FLAGGED", b"UNFLAGGED", b"ANSWERED", b"UNANSWERED", b"DRAFT",
    b"SUBJECT two", b'SUBJECT "t"', b"FROM example", b"BODY hello", b"TEXT LINE", b"LARGER 45", b"SMALLER 46", b"HEADER Subject ONE",
    b"1:2", b"2:*",
]

def some_places():
    return random.choice(PLACES)

def some_uids():
    """Numbers that were told, or all."""
    known = [b"%d" % each.uid for each in known_account().view if each.uid]
    return random.choice([random.choice(known), b",".join(known), b"%s:*" % known[-1], b"1:*"]) if known else b"1:*"

def some_criteria():
    one, other = random.choice(CRITERIA), random.choice(CRITERIA)
    return random.choice([one, one, b"NOT " + one, b"OR %s %s" % (one, other), b"%s %s" % (one, other), b"UID " + some_uids(), b"(%s NOT (%s))" % (one, other)])

def some_mailbox():
    name = MAILBOX.encode()
    return random.choice([name, name, b'"%s"' % name, b"INBOX", b"palaver-none"])

def some_selection():
    """Mostly our own mailbox. What is in others stays as it is."""
    name = some_mailbox()
    verb = random.choice([b"SELECT", b"EXAMINE", b"select"]) if name.upper() != b"INBOX" else b"EXAMINE"
    return b"s%d %s %s\r\n" % (random.randrange(10000), verb, name)

def some_pattern():
    name = MAILBOX.encode()
    return random.choice([b"*", b'"*"', b"%", name, b'"%s*"' % name[:3], b"palaver-none", b'""'])

def other_than(value, guesses):
    return random.choice([guess for guess in guesses if guess.strip(b'"') != value.encode()])

def visits():
    """As a client, palaver always logs in, and makes its mailbox. Others may do without."""
    return 1 if is_our_client() else 0

def most_news():
    """As a server, palaver has little to tell. Others may have more."""
    return 5 if is_our_client() else 1

def fewest():
    """As a client, palaver has some things to do. Others may be brief."""
    return 25 if is_our_client() else 0

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Lines and values -------------------------------------------------------------------------------------------------

def lines_of(data):
    """Lines, of which each may have texts of given sizes in it."""
    lines, begin = [], 0
    while begin < len(data):
        end = data.index(b"\r\n", begin) + 2
        size = re.search(rb"\{(\d+)\}\r\n\Z", data[begin:end])
        while size:
            end = data.index(b"\r\n", end + int(size[1])) + 2
            size = re.search(rb"\{(\d+)\}\r\n\Z", data[begin:end])
        lines.append(data[begin:end])
        begin = end
    return lines

TOKEN = re.compile(rb'[()]|"(?:[^"\\]|\\.)*"|\{(\d+)\}\r\n|[^\s()"{\[\]]+(?:\[[^\]]*\](?:<[\d.]+>)?)?')

def values_of(data):
    """Words as they are, texts as bytes without their quotes, and lists of these."""
    found, place = [[]], 0
    token = TOKEN.search(data)
    while token:
        place = token.end()
        if token[0] == b"(":
            found.append([])
        elif token[0] == b")":
            last = found.pop()
            found[-1].append(last)
        elif token[1] is not None:
            found[-1].append(data[place:place + int(token[1])])
            place += int(token[1])
        elif token[0].startswith(b'"'):
            found[-1].append(re.sub(rb"\\(.)", rb"\1", token[0][1:-1]))
        else:
            found[-1].append(token[0])
        token = TOKEN.search(data, place)
    return found[0]

def split(exchange):
    """Tag, name and arguments of a command, the letter that came with it, and the lines of the answer."""
    command, _, rest = bytes(exchange).partition(b"\r\n")
    tag, name, arguments = (command.split(b" ", 2) + [b"", b""])[:3]
    if name.upper() == b"UID":
        kind, _, arguments = arguments.partition(b" ")
        name += b" " + kind
    if exchange.find_all_trees("<mistaken>"):
        name = b"MISTAKE"
    letter, before = b"", re.search(rb"\A(\* [^\r\n]*\r\n)*\+[^\r\n]*\r\n(\* [^\r\n]*\r\n)*", rest)
    if before and name.upper() == b"APPEND":
        size = int(re.search(rb"\{(\d+)\}\Z", command)[1])
        letter, rest = rest[before.end():][:size], rest[before.end() + size + 2:]
    lines = [line for line in lines_of(rest) if line[:1] != b"+" and line.upper() != b"DONE\r\n"]
    return tag, name.upper(), arguments, letter, lines

def name_of(text):
    name = text.strip().strip(b'"')
    return b"INBOX" if name.upper() == b"INBOX" else name

def is_in(text, number, last):
    """Whether a number is in a set, of which `*` is the last; a range may be written backwards."""
    for part in text.split(b","):
        ends = [last if each == b"*" else int(each) for each in part.split(b":")]
        if min(ends) <= number <= max(ends):
            return True
    return False

def section_of(letter, section):
    """What `BODY[section]` is of a letter without parts."""
    head, _, text = letter.partition(b"\r\n\r\n")
    lines = (head + b"\r\n").splitlines(True)
    words = section.upper().split(None, 1)
    if not words:
        return letter
    if words == [b"HEADER"]:
        return head + b"\r\n\r\n"
    if words in ([b"TEXT"], [b"1"]):
        return text
    names = re.findall(rb"[^()\s\"]+", words[1]) if len(words) > 1 else []
    if words[0] == b"HEADER.FIELDS":
        return b"".join(line for line in lines if line.split(b":")[0].upper() in names) + b"\r\n"
    if words[0] == b"HEADER.FIELDS.NOT":
        return b"".join(line for line in lines if line.split(b":")[0].upper() not in names) + b"\r\n"
    return None

def field_of(letter, name):
    found = re.search(rb"(?im)^%s: ?(.*)\r$" % name, letter.partition(b"\r\n\r\n")[0] + b"\r\n")
    return found[1] if found else None

MACROS = {b"FAST": b"FLAGS INTERNALDATE RFC822.SIZE", b"ALL": b"FLAGS INTERNALDATE RFC822.SIZE ENVELOPE"}
OLD_NAMES = {b"RFC822": b"BODY[]", b"RFC822.HEADER": b"BODY.PEEK[HEADER]", b"RFC822.TEXT": b"BODY[TEXT]"}

def items_of(text):
    """What is asked for, each as it will be called in the answer, with the section and the part of it that is due."""
    found = []
    flat = values_of(MACROS.get(text.upper(), text))
    for item in flat[0] if flat and isinstance(flat[0], list) else flat:
        wanted = re.fullmatch(rb"BODY(?:\.PEEK)?\[(.*)\](?:<(\d+)\.(\d+)>)?", OLD_NAMES.get(item.upper(), item.upper()))
        name = item.upper().replace(b".PEEK", b"")
        if wanted and wanted[2]:
            found.append((name.partition(b"<")[0] + b"<%s>" % wanted[2], wanted[1], int(wanted[2]), int(wanted[3])))
        else:
            found.append((name, wanted[1] if wanted else None, 0, None))
    return found


# --- What is known of the mailboxes --------------------------------------------------------------------------------------

class Wrong(Exception):
    """What is wrong with an answer."""

class Letter:
    """What is None is not known."""

    def __init__(self, text=None, flags=None, date=None, uid=None):
        self.text, self.flags, self.date, self.uid = text, flags, date, uid

    def __repr__(self):
        return "(uid %s, %s, %s)" % (self.uid, self.flags and sorted(self.flags), self.text)

    def matches(self, keys, place, last, view):
        """Whether it is found by the first key: True, False, or None if that is not known; and the keys behind it."""
        key, *rest = keys
        if isinstance(key, list):
            return self.matches_all(key, place, last, view), rest
        name = key.upper()
        if name == b"NOT":
            found, rest = self.matches(rest, place, last, view)
            return None if found is None else not found, rest
        if name == b"OR":
            one, rest = self.matches(rest, place, last, view)
            other, rest = self.matches(rest, place, last, view)
            return True if one or other else None if None in (one, other) else False, rest
        if name == b"ALL":
            return True, rest
        if name == b"UID":
            return None if self.uid is None else is_in(rest[0], self.uid, last_uid(view)), rest[1:]
        if re.fullmatch(rb"[\d:,*]+", name):
            return is_in(name, place, last), rest
        if name.removeprefix(b"UN") in (b"SEEN", b"DELETED", b"FLAGGED", b"ANSWERED", b"DRAFT"):
            is_set = None if self.flags is None else b"\\" + name.removeprefix(b"UN").lower() in self.flags
            return None if is_set is None else is_set != name.startswith(b"UN"), rest
        count = {b"HEADER": 2, b"SUBJECT": 1, b"FROM": 1, b"TO": 1, b"BODY": 1, b"TEXT": 1, b"LARGER": 1, b"SMALLER": 1}.get(name, 0)
        words, rest = rest[:count], rest[count:]
        if self.text is None or not count:
            return None, rest
        if name in (b"LARGER", b"SMALLER"):
            return len(self.text) > int(words[0]) if name == b"LARGER" else len(self.text) < int(words[0]), rest
        if name in (b"TEXT", b"BODY"):
            looked_at = self.text if name == b"TEXT" else section_of(self.text, b"TEXT")
        else:
            looked_at = field_of(self.text, words[0] if name == b"HEADER" else name)
        return looked_at is not None and words[-1].lower() in looked_at.lower(), rest

    def matches_all(self, keys, place, last, view):
        found = []
        while keys:
            one, keys = self.matches(keys, place, last, view)
            found.append(one)
        return False if False in found else None if None in found else True

class Box:
    """A mailbox: its letters, or None if these are not known."""

    def __init__(self, letters=None):
        self.letters, self.validity, self.next_uid = letters, None, 1

    def __repr__(self):
        return repr(self.letters)

    def add(self, letter):
        if not is_our_client():
            letter.uid, self.next_uid = self.next_uid, self.next_uid + 1
        self.letters.append(letter)

class Account:
    """Mailboxes by their names; which one is selected; and what is seen of it: others have come, but were not told of."""

    def __init__(self):
        self.boxes, self.selected, self.view, self.is_writable, self.mistake = None, b"", [], True, ""

    def __repr__(self):
        return self.mistake or "%s of %s" % (self.selected.decode("latin-1"), self.boxes)

    def begin(self):
        """If we are the client, there is what we have made; if we are the server, some letters for everybody."""
        if is_our_client():
            self.selected = MAILBOX.encode()
            self.view = [Letter(LETTERS[0], {b"\\flagged"}), Letter(LETTERS[1], set())]
            self.boxes = {b"INBOX": Box(), self.selected: Box(list(self.view))}
        else:
            self.boxes = {b"INBOX": Box([])}
            for text in LETTERS:
                self.boxes[b"INBOX"].add(Letter(text, set()))

    def hear(self, tag, name, arguments, letter, answer):
        """Learn from a command and its answer. :raises Wrong: if the answer does not agree with what is known"""
        ends = [line for line in answer if not line.startswith(b"* ")]
        if not ends or not ends[0].startswith(tag + b" "):
            raise Wrong("the answer has another tag")
        is_good = ends[0][len(tag) + 1:].upper().startswith(b"OK")
        told = Told(self, name, arguments, is_good)
        told.before(letter)
        for line in answer:
            if line.startswith(b"* "):
                told.hear(line)
        told.after(ends[0])


def last_uid(view):
    """That of the last letter; if it was not told, one that is larger than all."""
    return view[-1].uid if view and view[-1].uid else 2 ** 32

def time_of(text):
    return datetime.datetime.strptime(text.decode().strip(), "%d-%b-%Y %H:%M:%S %z")

class Told:
    """One answer, line by line."""

    def __init__(self, account, name, arguments, is_good):
        self.account, self.name, self.arguments, self.is_good = account, name, arguments, is_good
        self.kind, self.is_by_uid = name.removeprefix(b"UID "), name.startswith(b"UID ")
        self.chosen, self.doubtful, self.items, self.lacks, self.is_silent = [], [], [], False, False
        self.heard, self.earlier, self.codes, self.listed = {}, {}, {}, []
        self.number_told = self.found = self.counts = self.known_flags = None

    # What the command does.

    def before(self, letter):
        if self.kind in ABOUT_LETTERS and not self.account.selected:
            if self.is_good:
                raise Wrong("no mailbox is selected")
            return
        if self.kind in (b"FETCH", b"STORE"):
            places, _, rest = self.arguments.partition(b" ")
            self.choose(places)
            if self.kind == b"FETCH":
                self.items = items_of(rest)
                if re.search(rb"(?i)BODY\[|RFC822(?!\.(SIZE|HEADER))", rest) and self.account.is_writable:
                    self.change(b"+", {b"\\seen"})
            else:
                self.store(rest)
        if self.kind == b"APPEND" and self.is_good:
            self.append(letter)

    def append(self, letter):
        name, flags, date = re.search(rb'\A("[^"]*"|[^ ]+) (\(.*\) )?("[^"]*" )?\{', self.arguments).groups()
        box = self.account.boxes.get(name_of(name))
        if box is not None and box.letters is not None:
            self.chosen = [Letter(letter, flags_in(values_of(flags or b"()")[0]), date and date.strip().strip(b'"'))]
            box.add(self.chosen[0])

    def choose(self, places):
        view = self.account.view
        if self.is_by_uid:
            self.doubtful = [each for each in view if each.uid is None]
            self.chosen = [each for each in view if each.uid is not None and is_in(places, each.uid, last_uid(view))]
        else:
            self.chosen = [view[place] for place in range(len(view)) if is_in(places, place + 1, len(view))]
            self.lacks = not view or any(not 1 <= int(each) <= len(view) for each in re.findall(rb"\d+", places))

    def store(self, rest):
        sign, silent, flags = re.search(rb"(?i)\A([+-]?)FLAGS(\.SILENT)? (.*)", rest).groups()
        self.is_silent = silent is not None
        if self.account.is_writable:
            self.change(sign, flags_in(values_of(flags)[0]))

    def change(self, sign, flags):
        """Where it is not certain that flags were changed, they are not known any more."""
        is_certain = self.is_good or not self.lacks or not is_our_client()
        for letter in self.chosen:
            self.earlier[id(letter)] = letter.flags
            if not is_certain or letter.flags is None and sign:
                letter.flags = None
            elif self.is_good:
                letter.flags = letter.flags | flags if sign == b"+" else letter.flags - flags if sign == b"-" else set(flags)
        for letter in self.doubtful:
            letter.flags = None

    # What the server tells.

    def hear(self, line):
        words, account = line[2:].strip(), self.account
        self.note_codes(words)
        numbered = re.search(rb"(?i)\A(\d+) (EXISTS|EXPUNGE|FETCH)\b", words)
        if numbered and self.name in (b"SELECT", b"EXAMINE") and numbered[2].upper() == b"EXISTS":
            self.number_told = int(numbered[1])
        elif numbered:
            if not account.selected:
                raise Wrong("no mailbox is selected")
            number, kind = int(numbered[1]), numbered[2].upper()
            if kind == b"EXISTS":
                self.grow(number)
            elif not 1 <= number <= max(len(account.view), len(account.boxes[account.selected].letters or [])):
                raise Wrong("there is no letter %d" % number)
            else:
                self.grow(max(number, len(account.view)))  # its coming may have been told between two commands
            if kind == b"EXPUNGE":
                self.lose(number)
            elif kind == b"FETCH":
                self.learn(account.view[number - 1], values_of(words[numbered.end():])[0])
        elif words.upper().startswith(b"SEARCH"):
            self.found = {int(each) for each in words.split()[1:]}
        elif words.upper().startswith(b"LIST "):
            self.listed.append(name_of(values_of(words)[3]))
        elif words.upper().startswith(b"STATUS "):
            self.counts = values_of(words)[2]
        elif words.upper().startswith(b"FLAGS "):
            self.known_flags = words

    def note_codes(self, words):
        for code, value in re.findall(rb"(?i)\[(UIDVALIDITY|UIDNEXT|UNSEEN|APPENDUID) ([\d ]+)\]", words):
            self.codes[code.upper()] = int(value.split()[-1])

    def grow(self, count):
        account, box = self.account, self.account.boxes[self.account.selected]
        if box.letters is None:
            account.view = account.view + [Letter() for each in range(count - len(account.view))]
        elif not len(account.view) <= count <= len(box.letters):
            raise Wrong("there are %d letters" % len(box.letters))
        else:
            account.view = box.letters[:count]

    def lose(self, number):
        if self.name in (b"FETCH", b"STORE", b"SEARCH"):
            raise Wrong("no letter may go while this command goes on")
        letter = self.account.view[number - 1]
        if not self.account.is_writable or letter.flags is not None and b"\\deleted" not in letter.flags:
            raise Wrong("letter %d was not to be deleted" % number)
        self.account.view = [each for each in self.account.view if each is not letter]
        box = self.account.boxes[self.account.selected]
        if box.letters is not None:
            box.letters = [each for each in box.letters if each is not letter]

    def learn(self, letter, pairs):
        heard = self.heard.setdefault(id(letter), set())
        for name, value in zip(pairs[::2], pairs[1::2]):
            name = name.upper().replace(b'"', b"")
            heard.add(name)
            known = getattr(self, "learn_" + re.sub("[^a-z]", "", name.decode().lower()), None)
            wanted = [item for item in self.items if item[0] == name and item[1] is not None]
            if known is not None:
                known(letter, value)
            elif wanted:
                self.learn_section(letter, value, wanted[0])

    def learn_uid(self, letter, value):
        if letter.uid not in (None, int(value)):
            raise Wrong("the unique number of a letter has changed")
        letter.uid = int(value)
        uids = [each.uid for each in self.account.view if each.uid is not None]
        if uids != sorted(set(uids)):
            raise Wrong("unique numbers do not ascend")

    def learn_flags(self, letter, value):
        told = flags_in(value)
        if letter.flags is None:
            letter.flags = told
        elif told != letter.flags and (self.kind != b"FETCH" or told != self.earlier.get(id(letter))):
            raise Wrong("flags are " + ascii(sorted(letter.flags)))

    def learn_rfcsize(self, letter, value):
        if letter.text is not None and int(value) != len(letter.text):
            raise Wrong("the size is %d" % len(letter.text))

    def learn_internaldate(self, letter, value):
        if letter.date is not None and time_of(value) != time_of(letter.date):
            raise Wrong("the date is " + ascii(letter.date))
        letter.date = value

    def learn_envelope(self, letter, value):
        if letter.text is not None and value[1] != (field_of(letter.text, b"Subject") or b"NIL"):
            raise Wrong("the subject is another one")

    def learn_section(self, letter, value, item):
        name, section, begin, length = item
        if letter.text is None:
            letter.text = value if section == b"" and length is None else None
            return
        due = section_of(letter.text, section)
        due = due if length is None or due is None else due[begin:begin + length]
        if due is not None and value != due and not (value == b"NIL" and due == b""):
            raise Wrong("this part of the letter is " + ascii(due))

    # What must have been told.

    def after(self, end):
        self.note_codes(end)
        check = getattr(self, "after_" + self.kind.decode("latin-1").lower(), None)
        if check is not None and (self.kind not in ABOUT_LETTERS or self.account.selected):
            check(end)

    def must_be(self, is_good):
        if self.is_good != is_good:
            raise Wrong("this is possible" if is_good else "this is not possible")

    def after_noop(self, end):
        self.must_be(True)

    def after_fetch(self, end):
        if not self.is_good:
            is_known = all(item[0] in ITEM_NAMES or item[1] is not None and section_of(b"", item[1]) is not None for item in self.items)
            if is_known and not self.lacks:
                self.must_be(True)
            return
        names = {item[0] for item in self.items} | ({b"UID"} if self.is_by_uid else set())
        self.must_have_heard(names)

    def must_have_heard(self, names):
        for each in self.chosen:
            missing = sorted(names - self.heard.get(id(each), set()))
            if missing:
                raise Wrong("%s of letter %d was not told" % (ascii(missing[0]), self.account.view.index(each) + 1))

    def after_store(self, end):
        if not self.lacks and self.account.is_writable:
            self.must_be(True)
        if self.is_good and not self.is_silent and self.account.is_writable:
            # "Normally" (6.4.6): not all servers tell flags that are as they were.
            self.chosen = [each for each in self.chosen if self.earlier[id(each)] not in (None, each.flags)]
            self.must_have_heard({b"FLAGS"} | ({b"UID"} if self.is_by_uid else set()))

    def after_search(self, end):
        view = self.account.view
        due = search(self.arguments, view)
        if not self.is_good:
            if None not in due:
                self.must_be(True)
            return
        if self.found is None:
            raise Wrong("what was found was not told")
        names = [each.uid for each in view] if self.is_by_uid else list(range(1, len(view) + 1))
        if None not in names and not self.found <= set(names):
            raise Wrong("there are no such letters")
        for place in range(len(view)):
            if due[place] is not None and names[place] is not None and due[place] != (names[place] in self.found):
                raise Wrong("letter %d is %s" % (place + 1, "found" if due[place] else "not found"))

    def after_expunge(self, end):
        if self.account.is_writable:
            self.must_be(True)
        if self.is_good and self.account.is_writable and any(each.flags and b"\\deleted" in each.flags for each in self.account.view):
            raise Wrong("a letter that is to be deleted is still there")

    def after_close(self, end):
        account = self.account
        self.must_be(True)
        box = account.boxes[account.selected]
        if account.is_writable and box.letters is not None:
            late = [each for each in box.letters if each not in account.view]
            is_certain = all(each.flags is not None for each in account.view) and not any(b"\\deleted" in each.flags for each in late)
            box.letters = [each for each in box.letters if b"\\deleted" not in each.flags] if is_certain else None
        account.selected, account.view = b"", []

    def after_select(self, end):
        account, name = self.account, name_of(self.arguments)
        account.selected, account.view = b"", []
        box = account.boxes.get(name)
        self.must_be(box is not None)
        if box is None:
            return
        if self.number_told is None or self.known_flags is None:
            raise Wrong("EXISTS and FLAGS must be told")
        if box.letters is None:
            box.letters = [Letter() for each in range(self.number_told)]
        if self.number_told != len(box.letters):
            raise Wrong("there are %d letters" % len(box.letters))
        if self.kind == b"EXAMINE" and b"[READ-ONLY]" not in end.upper():
            raise Wrong("READ-ONLY must be told")
        self.check_codes(box)
        account.selected, account.view, account.is_writable = name, list(box.letters), b"[READ-ONLY]" not in end.upper()

    after_examine = after_select

    def check_codes(self, box):
        flags = [each.flags for each in box.letters]
        if b"UNSEEN" in self.codes and None not in flags:
            unseen = [place + 1 for place in range(len(flags)) if b"\\seen" not in flags[place]]
            if self.codes[b"UNSEEN"] not in unseen[:1]:
                raise Wrong("not seen: " + ascii(unseen))
        if b"UIDNEXT" in self.codes and any(each.uid and each.uid >= self.codes[b"UIDNEXT"] for each in box.letters):
            raise Wrong("the next unique number was given to a letter")
        if b"UIDVALIDITY" in self.codes:
            if box.validity not in (None, self.codes[b"UIDVALIDITY"]):
                raise Wrong("UIDVALIDITY was %d" % box.validity)
            box.validity = self.codes[b"UIDVALIDITY"]

    def after_create(self, end):
        self.must_be(name_of(self.arguments) not in self.account.boxes)
        self.account.boxes[name_of(self.arguments)] = self.account.boxes.get(name_of(self.arguments), Box([]))

    def after_delete(self, end):
        name = name_of(self.arguments)
        self.must_be(name in self.account.boxes and name != b"INBOX")
        if self.is_good:
            self.account.boxes = {each: self.account.boxes[each] for each in self.account.boxes if each != name}
            if self.account.selected == name:
                self.account.selected, self.account.view = b"", []

    def after_list(self, end):
        self.must_be(True)
        for name in self.account.boxes:
            if is_listed(self.arguments, name) and name not in self.listed:
                raise Wrong(ascii(name) + " is not listed")
        if not all(is_listed(self.arguments, name) for name in self.listed) and not self.arguments.endswith(b'""'):
            raise Wrong("something else is listed")

    def after_status(self, end):
        name, _, wanted = self.arguments.rpartition(b" (")
        box = self.account.boxes.get(name_of(name))
        self.must_be(box is not None)
        if box is None:
            return
        told = self.counts or []
        told = {key.upper(): int(value) for key, value in zip(told[::2], told[1::2])}
        if set(wanted.upper().strip(b")").split()) - set(told):
            raise Wrong("not everything was told")
        self.codes.update(told)
        self.codes.pop(b"UNSEEN", None)
        if box.letters is not None:
            counts = {len(box.letters)} | ({len(self.account.view)} if name_of(name) == self.account.selected else set())
            if told.get(b"MESSAGES", len(box.letters)) not in counts:
                raise Wrong("there are %d letters" % len(box.letters))
            unseen = None if any(each.flags is None for each in box.letters) else sum(b"\\seen" not in each.flags for each in box.letters)
            if unseen is not None and len(counts) == 1 and told.get(b"UNSEEN", unseen) != unseen:
                raise Wrong("%d are not seen" % unseen)
            self.check_codes(box)

    def after_append(self, end):
        self.must_be(name_of(re.search(rb'\A(?:"[^"]*"|[^ ]+)', self.arguments)[0]) in self.account.boxes)
        if self.chosen and b"APPENDUID" in self.codes:
            self.learn_uid(self.chosen[0], self.codes[b"APPENDUID"])

ABOUT_LETTERS = {b"FETCH", b"STORE", b"SEARCH", b"EXPUNGE", b"CLOSE"}
ITEM_NAMES = {b"FLAGS", b"UID", b"RFC822.SIZE", b"INTERNALDATE", b"ENVELOPE"}

def flags_in(value):
    """Those of the standard. Others are left out, and \\Recent is the server's."""
    return {each.lower() for each in value} & {each.lower() for each in FLAGS}

def search(text, view):
    """Of each letter: True if it is found, False if not, None if that is not known."""
    keys = values_of(re.sub(rb"(?i)^CHARSET \S+ ", b"", text))
    return [view[place].matches_all(keys, place + 1, len(view), view) for place in range(len(view))]

def is_listed(arguments, name):
    pattern = name_of(values_of(arguments)[1])
    return re.fullmatch(re.escape(pattern).replace(rb"\*", b".*").replace(b"%", b"[^/.]*"), name) is not None

def follow(account, exchange):
    """What is known after an exchange, with what was wrong with the answer."""
    following = copy.deepcopy(known_account(account))
    try:
        following.hear(*split(exchange))
    except Wrong as wrong:
        following.mistake = str(wrong)
    return following

follow.state = Account()

def known_account(account=None):
    account = account or follow.state
    if account.boxes is None:
        account = Account()
        account.begin()
    return account


# --- What we say as a server ----------------------------------------------------------------------------------------------

def due(exchange, exchanges):
    """The answer in this exchange, if that agrees with what was told before; else one that does."""
    answers = exchange.find_all_trees("<answer>")
    said = (answers + exchange.find_all_trees("<refused>"))[0]
    if is_our_client():
        return bytes(said)  # the answers are not ours
    before = []
    for each in exchanges:
        if each is exchange:
            break
        before.append(each)
    account, command = account_after(before), split(exchange)
    try:
        copy.deepcopy(account).hear(*command)
        return bytes(said)
    except Wrong:
        return answer_to(copy.deepcopy(account), *command[:4]) if answers else command[0] + b" NO not now\r\n"

def account_after(exchanges):
    """What is known after these. It is asked for again and again, so it is kept."""
    key = tuple(bytes(each) for each in exchanges)
    if key not in ACCOUNTS:
        account = known_account(Account())
        if exchanges:
            account = copy.deepcopy(account_after(exchanges[:-1]))
            account.hear(*split(exchanges[-1]))
        if len(ACCOUNTS) > 100:
            ACCOUNTS.clear()
        ACCOUNTS[key] = account
    return ACCOUNTS[key]

ACCOUNTS = {}

def answer_to(account, tag, name, arguments, letter):
    told = Told(account, name, arguments, True)
    try:
        told.before(letter)
        say = getattr(Saying, "say_" + told.kind.decode("latin-1").lower(), None)
        lines = say(told, letter) if say is not None else ["done"] if told.kind in (b"NOOP", b"CHECK", b"IDLE") else None
    except Wrong:
        lines = None
    if lines is None:
        return tag + b" NO that is not possible\r\n"
    return b"".join(b"* " + line + b"\r\n" for line in lines[:-1]) + tag + b" OK " + lines[-1].encode() + b"\r\n"

class Saying:
    """For each command, the lines of the answer, the last of which is a remark; or None if it is not possible."""

    def say_select(told, letter):
        box = told.account.boxes.get(name_of(told.arguments))
        if box is None:
            return None
        codes = [b"OK [UIDVALIDITY 1] once for all", b"OK [UIDNEXT %d] for the next letter" % box.next_uid]
        kind = "[READ-ONLY] look" if told.kind == b"EXAMINE" else "[READ-WRITE] here you are"
        return [b"FLAGS (%s)" % b" ".join(FLAGS), b"%d EXISTS" % len(box.letters), b"0 RECENT", *codes, kind]

    say_examine = say_select

    def say_create(told, letter):
        return ["made"] if name_of(told.arguments) not in told.account.boxes else None

    def say_delete(told, letter):
        return ["gone"] if name_of(told.arguments) in set(told.account.boxes) - {b"INBOX"} else None

    def say_list(told, letter):
        if told.arguments.endswith(b' ""'):
            return [b'LIST (\\Noselect) "/" ""', "done"]
        return [*(b'LIST () "/" "%s"' % name for name in told.account.boxes if is_listed(told.arguments, name)), "done"]

    def say_status(told, letter):
        name, _, wanted = told.arguments.rpartition(b" (")
        box = told.account.boxes.get(name_of(name))
        if box is None:
            return None
        unseen = sum(b"\\seen" not in each.flags for each in box.letters)
        counts = {b"MESSAGES": len(box.letters), b"RECENT": 0, b"UIDNEXT": box.next_uid, b"UIDVALIDITY": 1, b"UNSEEN": unseen}
        names = wanted.upper().strip(b")").split()
        return [b"STATUS %s (%s)" % (name, b" ".join(b"%s %d" % (each, counts[each]) for each in names)), "done"]

    def say_append(told, letter):
        name = name_of(re.search(rb'\A(?:"[^"]*"|[^ ]+)', told.arguments)[0])
        if name not in told.account.boxes:
            return None
        return [*([b"%d EXISTS" % len(told.account.boxes[name].letters)] if name == told.account.selected else []), "taken"]

    def say_fetch(told, letter):
        lines = []
        for each in told.chosen:
            parts = [Saying.item(each, item) for item in told.items if not (told.is_by_uid and item[0] == b"UID")]
            if None in parts:
                return None
            place = told.account.view.index(each) + 1
            lines.append(b"%d FETCH (%s)" % (place, b" ".join([*([b"UID %d" % each.uid] if told.is_by_uid else []), *parts])))
        return None if told.lacks else [*lines, "done"]

    def item(letter, item):
        name, section, begin, length = item
        if section is not None:
            part = section_of(letter.text, section)
            part = part if part is None or length is None else part[begin:begin + length]
            return None if part is None else b"%s {%d}\r\n%s" % (name, len(part), part)
        subject = field_of(letter.text, b"Subject")
        values = {
            b"FLAGS": b"FLAGS (%s)" % b" ".join(flag for flag in FLAGS if flag.lower() in letter.flags),
            b"UID": b"UID %d" % letter.uid,
            b"RFC822.SIZE": b"RFC822.SIZE %d" % len(letter.text),
            b"INTERNALDATE": b'INTERNALDATE "%s"' % (letter.date or b"01-Feb-2021 12:34:56 +0000"),
            b"ENVELOPE": b"ENVELOPE (NIL %s NIL NIL NIL NIL NIL NIL NIL NIL)" % (b'"%s"' % subject if subject else b"NIL"),
        }
        return values.get(name)

    def say_store(told, letter):
        told.items = [(b"FLAGS", None, 0, None)]
        lines = Saying.say_fetch(told, letter)
        return lines[-1:] if told.is_silent and lines else lines

    def say_search(told, letter):
        view = told.account.view
        found = search(told.arguments, view)
        if None in found:
            return None
        names = [each.uid for each in view] if told.is_by_uid else list(range(1, len(view) + 1))
        return [b"SEARCH" + b"".join(b" %d" % names[place] for place in range(len(view)) if found[place]), "done"]

    def say_expunge(told, letter):
        view = told.account.view
        gone = [place for place in range(len(view)) if b"\\deleted" in view[place].flags]
        return [*(b"%d EXPUNGE" % (place + 1) for place in reversed(gone)), "done"] if told.account.is_writable else None

    def say_close(told, letter):
        return ["done"]


# --- Parties ----------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:143", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:143", connection_mode=ConnectionMode.EXTERNAL)


# --- What is no part of the session -----------------------------------------------------------------------------------

# For `palaver talk --beyond`; the first of these that fits decides. A server answers BAD or NO to what is said in a state
# that it is not for (RFC 3501, 3), and BAD to what is no command (7.1.3); it may say good bye to those who go on (7.1.5).
# What has arguments is taken for right whatever they are, but for NUL, which must never be sent (9), and so are known
# extensions. A line that announces a text is not judged: a server may ask for that before it looks at the rest (4.3).
<beyond>        ::= <allowed> | <login_again> | <for_members> | <unknown> | <malformed>
<allowed>       ::= <Client:any_literal> | <Client:any_simple> | <Client:any_extension> | <Client:any_about_letters>
<login_again>   ::= <Client:any_login> <no_such_thing>
<for_members>   ::= <Client:any_of_members> <no_such_thing>
<unknown>       ::= <Client:any_unknown> <no_such_thing>
<malformed>     ::= <Client:any_line> <no_such_thing>
<no_such_thing> ::= <Server:not_done> <Server:hung_up>? | <Server:said_bye> <Server:hung_up>
<any_literal>   ::= rb"[^\r\n]*\{[0-9]*\+?\} *\r\n"
<any_simple>    ::= rb"[!-z|}~]+ (?i:CAPABILITY|NOOP|CHECK|LOGOUT|STARTTLS|UNSELECT|IDLE|NAMESPACE) *\r\n"
<any_extension> ::= rb"[!-z|}~]+ (?i:AUTHENTICATE|ID|ENABLE|COMPRESS|GETQUOTA|GETQUOTAROOT|SETQUOTA|GETACL|SETACL|DELETEACL|LISTRIGHTS|MYRIGHTS|SORT|THREAD|MOVE|NOTIFY|GETMETADATA|SETMETADATA|ESEARCH|RESETKEY|GENURLAUTH|URLFETCH|LANGUAGE|COMPARATOR|X[A-Z-]*)( [^\r\n\x00]*)?\r\n"
<any_about_letters> ::= rb"[!-z|}~]+ (?i:FETCH|SELECT|EXAMINE) [^\r\n\x00]+\r\n"
<any_login>     ::= rb"[!-z|}~]+ (?i:LOGIN) [^\r\n\x00]+\r\n"
<any_of_members> ::= rb"[!-z|}~]+ (?i:(CREATE|DELETE|RENAME|SUBSCRIBE|UNSUBSCRIBE|LIST|LSUB|STATUS|APPEND|STORE|SEARCH|COPY|UID) [^\r\n\x00]+|EXPUNGE *|CLOSE *)\r\n"
<any_unknown>   ::= rb"[!-z|}~]+ [A-Za-z0-9]{3,20}( [ -z|~]*)?\r\n"
<any_line>      ::= rb"[^\r\n]*\r\n"
<not_done>      ::= rb"(\* (?!(?i:BAD|BYE))[^\r\n]*\r\n)*(\* (?i:BAD)|[^\r\n* +]+ (?i:NO|BAD))( [^\r\n]*)?\r\n"
<said_bye>      ::= rb"(\* (?!(?i:BAD|BYE))[^\r\n]*\r\n)*\* (?i:BYE)( [^\r\n]*)?\r\n"
<hung_up>       ::= ""
