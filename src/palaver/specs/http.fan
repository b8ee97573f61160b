# HTTP/1.1 as it goes over the wire (RFC 9110, 9112): requests and responses, ranges, conditions, chunks, and HTTP/1.0.
#
#     palaver talk http --client 80          tests the server that listens on port 80
#     palaver talk http --server 80          tests the clients that connect to port 80
#
# As a client, palaver asks any server, and sends POST, PUT, PATCH and DELETE, too: never try it on a site that would do
# as it is told. Servers for a try are nginx, lighttpd and Apache, with the page that they are installed with. As a server,
# it has something for any path.
#
# How to read the rules: <Client:request> is the message <request>, sent by the client. A rule with messages in it is a
# part of the session; all other rules tell what messages look like.


# --- Parameters -------------------------------------------------------------------------------------------------------

PATHS = ["/", "/index.html", "/palaver-missing"]  # [parameter] paths that are asked for, beside any others
GUARDED = 0  # [parameter] how many preconditions a request has at most; if one fails, nginx closes without having said so


# --- The session ------------------------------------------------------------------------------------------------------

# A connection is used for one request after the other, until one of both says that it closes it.
<start>       ::= <exchange>{fewest(),most()} <parting>? | <exchange>* <last>
<exchange>    ::= <asking> | <peeking> | <ranging> | <renewing> | <expecting> | <keeping> | <pipelining>
<asking>      ::= <Client:request> <interim> <Server:response>
<peeking>     ::= <Client:head> <interim> <Server:head_response>

# A part of what there is, and only what is not known yet.
<ranging>     ::= <Client:ranged> <interim> (<Server:partial> | <Server:not_modified> | <Server:response>)
<renewing>    ::= (<Client:conditional> <interim> (<Server:not_modified> | <Server:response>)
                 | <Client:conditional_head> <interim> (<Server:not_modified> | <Server:head_response>))

# Who expects to be told so sends a body only then (RFC 9110, 10.1.1); who is refused leaves, as a body is still due.
<expecting>   ::= <announcing> <interim> <Server:response>
<announcing>  ::= (<Client:announcement> <Server:go_on> <Client:announced_body>
                 | <Client:chunked_announcement> <Server:go_on> <Client:announced_chunks>)

# Several requests may be sent before the first is answered. The answers come in the same order (RFC 9112, 9.3.2).
<pipelining>  ::= <Client:pipelined> <Server:response> <Server:response>

# Responses that say what is going on come before the one that counts (RFC 9110, 15.2).
<interim>     ::= <Server:informational>{0,2}

# In HTTP/1.0 a connection is closed behind a response, unless both say that they keep it.
<keeping>     ::= <Client:old_keeping_request> <Server:kept_response>

# The server says that it closes, and does (RFC 9112, 9.6). One that speaks HTTP/1.0 need not say so.
<last>        ::= <last_asking> | <last_expecting> | <last_pipelining>
<last_asking> ::= ((<Client:request> | <Client:ranged> | <Client:conditional>) <interim> (<Server:last_response> | <Server:from_old>)
                 | (<Client:head> | <Client:conditional_head>) <interim> (<Server:last_head_response> | <Server:head_from_old>)
                 | <Client:old_keeping_request> (<Server:last_response> | <Server:from_old>)) <Server:connection_ended>
<last_expecting> ::= (<announcing> <interim> (<Server:last_response> | <Server:from_old>) <Server:connection_ended>
                 | (<Client:announcement> | <Client:chunked_announcement>) (<Server:any_response> | <Server:from_old>) <Client:connection_closed>)
<last_pipelining> ::= <Client:pipelined> <Server:response>? (<Server:last_response> | <Server:from_old>) <Server:connection_ended>

# The client says so: the server does it then, too. In HTTP/1.0 it does in any case.
<parting>     ::= <leaving> | <old_asking>
<leaving>     ::= (<Client:leaving_request> <interim> (<Server:any_response> | <Server:from_old>)
                 | <Client:leaving_head> <interim> (<Server:any_head_response> | <Server:head_from_old>)) <Server:connection_ended>
<old_asking>  ::= (<Client:old_request> <Server:old_response> | <Client:old_head> <Server:old_head_response>) <Server:connection_ended>
<connection_ended> ::= ""
<connection_closed> ::= ""


# --- Requests -----------------------------------------------------------------------------------------------------------

<request>     ::= <fetch> | <submit>
<pipelined>   ::= <fetch> <fetch>
<fetch>       ::= <fetch_method> <target> <named>* (<guard> <named>*){0,guards()} "\r\n"
<submit>      ::= <sized> | <in_chunks> | <bare>
<sized>       ::= <submit_method> <target> <named>* (<guard> <named>*){0,guards()} <length> <named>* "\r\n" <body>
<in_chunks>   ::= <submit_method> <target> <named>* (<guard> <named>*){0,guards()} <coding> <named>* "\r\n" <chunks>
<head>        ::= "HEAD" <target> <named>* "\r\n"
<fetch_method> ::= "GET" | "DELETE" | "OPTIONS"
<submit_method> ::= "POST" | "PUT" | "PATCH"

# [note] RFC 9110 (8.6): a client should tell the length of what it submits, also if that is nothing
<bare>        ::= <submit_method> <target> <named>* "\r\n"

<ranged>      ::= "GET" <target> <named>* (<if_range> <named>*){0,early()} <range> <named>* ((<if_range> | <condition>) <named>*)? (<guard> <named>*){0,guards()} "\r\n"
<conditional> ::= "GET" <target> <named>* <condition> <named>* "\r\n"
<conditional_head> ::= "HEAD" <target> <named>* <condition> <named>* "\r\n"

<announcement> ::= <submit_method> <target> <named>* (<expect> <named>* <announced_length> | <announced_length> <named>* <expect>) <named>* "\r\n"
<chunked_announcement> ::= <submit_method> <target> <named>* (<expect> <named>* <coding> | <coding> <named>* <expect>) <named>* "\r\n"
<announced_body> ::= <byte>{int(<announced_size>)}
<announced_chunks> ::= <chunks>

<leaving_request> ::= (<fetch_method> <target> <plain_named>* <close> <plain_named>* "\r\n"
                 | <submit_method> <target> <plain_named>* <close> <plain_named>* <length> <plain_named>* "\r\n" <body>)
<leaving_head> ::= "HEAD" <target> <plain_named>* <close> <plain_named>* "\r\n"

<target>      ::= " " (<path> | <absolute>) " HTTP/1.1\r\n"
<absolute>    ::= "http://localhost" <path>
<path>        ::= <known_path> | <any_path>
# [set by PATHS]
<known_path>  ::= "/" | "/index.html" | "/palaver-missing"
<any_path>    ::= r"/([!$&-;=@-Z_a-z~]|%[0-9A-F]{2})*(\?([!$&-;=?@-Z_a-z~]|%[0-9A-F]{2})*)?"

<old_request> ::= (<fetch_method> <old_target> <plain_named>* (<condition> <plain_named>*)? (<guard> <plain_named>*){0,guards()} "\r\n"
                 | <submit_method> <old_target> <plain_named>* <length> <plain_named>* "\r\n" <body>)
<old_keeping_request> ::= <fetch_method> <old_target> <plain_named>* <keep> <plain_named>* "\r\n"
<old_head>    ::= "HEAD" <old_target> <plain_named>* "\r\n"
<old_target>  ::= " " <path> " HTTP/1.0\r\n"


# --- Responses ------------------------------------------------------------------------------------------------------------

# All of these are answers; they differ in what they say of the connection.
<response>    ::= <answer>
<kept_response> ::= <full> | <old_full> | <empty> | <unchanged>
<last_response> ::= <answer> | <part> | <unchanged> | <unbounded>
<any_response> ::= <answer> | <unbounded>
<old_response> ::= <full> | <unbounded> | <empty> | <unchanged> | <from_old>

# How long a body is tells its length, or its last chunk, or the end of the connection.
<answer>      ::= <full> | <chunked> | <empty>
<full>        ::= <status> <fields> <length> <fields> "\r\n" <body>
<chunked>     ::= <status> <fields> <coding> <fields> "\r\n" <chunks>
<unbounded>   ::= <status> <fields> "\r\n" <rest>
<from_old>    ::= <old_full> | <old_unbounded>
<old_full>    ::= <old_status> <fields> <length> <fields> "\r\n" <body>
<old_unbounded> ::= <old_status> <fields> "\r\n" <rest>
<empty>       ::= "HTTP/1.1 204" <reason> <fields> "\r\n"

# The response to HEAD may tell the length of a body that does not come.
<head_response> ::= <head_answer> | <head_part>
<last_head_response> ::= <head_answer> | <unchanged>
<any_head_response> ::= <head_answer>
<old_head_response> ::= <head_answer> | <unchanged> | <head_from_old>
<head_answer> ::= <status> <fields> (<length> | <coding>)? <fields> "\r\n" | <empty>

<head_from_old> ::= <old_status> <fields> <length>? <fields> "\r\n"

# [note] RFC 9110 (14.2): ranges are for GET only, and must be ignored if the method is HEAD
<head_part>   ::= "HTTP/1.1 206" <reason> <fields> <length>? <fields> "\r\n"

<partial>     ::= <part>
<part>        ::= "HTTP/1.1 206" <reason> <fields> (<content_range> <fields> <length> | <length> <fields> <content_range>) <fields> "\r\n" <body>
<not_modified> ::= <unchanged>
<unchanged>   ::= "HTTP/1.1 304" <reason> <fields> <length>? <fields> "\r\n"
<go_on>       ::= "HTTP/1.1 100" <reason> <few_fields> "\r\n"
<informational> ::= "HTTP/1.1 10" r"[02-9]" <reason> <few_fields> "\r\n"

<status>      ::= "HTTP/1.1 " <code> <reason>
<old_status>  ::= "HTTP/1.0 " <old_code> <reason>
<code>        ::= r"20[0-35789]|30[0-35-9]|[45][0-9]{2}" := random.choice(CODES)
<old_code>    ::= r"[2-5][0-9]{2}" := random.choice(CODES)
<reason>      ::= r"( [\t -~\x80-\xff]*)?\r\n" := " " + random.choice(["OK", "Not here", ""]) + "\r\n"


# --- Fields ---------------------------------------------------------------------------------------------------------------

# Names of fields may be written in capital or in small letters (RFC 9110, 5.1). Fields that say who is asked, what is
# asked for, or where a message or the connection ends, are no fields like others.
<named>       ::= <plain_named> | <keep>
<plain_named> ::= <host> | <field>
<fields>      ::= (<close> | <keep> | <tag> | <field>)*
<few_fields>  ::= (<keep> | <tag> | <field>)*
<host>        ::= r"(?ai:host):[ \t]*[][0-9A-Za-z.:_%-]*[ \t]*\r\n" := "Host: localhost\r\n"
<close>       ::= r"(?ai:connection):[ \t]*(?ai:([a-z0-9-]+[ \t]*,[ \t]*)*close([ \t]*,[ \t]*[a-z0-9-]+)*)[ \t]*\r\n" := "Connection: close\r\n"
<keep>        ::= r"(?ai:connection):[ \t]*(?!(?ai:([a-z0-9-]+[ \t]*,[ \t]*)*close)[ \t,\r])(?ai:[a-z0-9-]+([ \t]*,[ \t]*[a-z0-9-]+)*)[ \t]*\r\n" := "Connection: keep-alive\r\n"
<tag>         ::= r"(?ai:etag):[ \t]*" <entity_tag> r"[ \t]*\r\n"
<entity_tag>  ::= r"(W/)?\x22[!#-~\x80-\xff]*\x22" := '"%016x"' % random.getrandbits(64)
<length>      ::= r"(?ai:content-length):[ \t]*" <size> r"[ \t]*\r\n"
<announced_length> ::= r"(?ai:content-length):[ \t]*" <announced_size> r"[ \t]*\r\n"
<coding>      ::= r"(?ai:transfer-encoding):[ \t]*(?ai:chunked)[ \t]*\r\n"
<content_range> ::= r"(?ai:content-range):[ \t]*bytes " <first> "-" <final> "/" <total> r"[ \t]*\r\n"
<expect>      ::= r"(?ai:expect):[ \t]*(?ai:100-continue)[ \t]*\r\n" := "Expect: 100-continue\r\n"
<range>       ::= r"(?ai:range):[ \t]*(?ai:bytes)=" <wish> r"[ \t]*\r\n"
<wish>        ::= r"[0-9]{1,9}-[0-9]{0,9}|-[0-9]{1,9}" := random.choice(WISHES)
<if_range>    ::= r"(?ai:if-range):[\t -~\x80-\xff]*\r\n" := "If-Range: %s\r\n" % some_tag().removeprefix("W/")
<condition>   ::= (<if_none_match> (<plain_named>* <if_modified_since>)?
                | <if_modified_since> (<plain_named>* <if_none_match>)?)
<if_none_match> ::= r"(?ai:if-none-match):[ \t]*(\*|(W/)?\x22[!#-~\x80-\xff]*\x22([ \t]*,[ \t]*(W/)?\x22[!#-~\x80-\xff]*\x22)*)[ \t]*\r\n" := "If-None-Match: %s\r\n" % some_tags()
<if_modified_since> ::= r"(?ai:if-modified-since):[ -~]*\r\n" := "If-Modified-Since: %s\r\n" % some_moment()
<guard>       ::= r"(?ai:if-match|if-unmodified-since):[\t -~\x80-\xff]*\r\n" := "If-Match: %s\r\n" % random.choice(["*", some_tag()])
<field>       ::= r"(?ai:(?!(host|content-length|transfer-encoding|connection|etag|expect|if-(none-)?match|if-(un)?modified-since|if-range):|content-range:[ \t]*bytes [0-9]|range:[ \t]*bytes=[0-9]*-[0-9]*[ \t]*\r)[!#$%&'*+.^_`|~a-z0-9-]+):[\t -~\x80-\xff]*\r\n" := some_field()
<first>       ::= r"[0-9]{1,9}"
<final>       ::= r"[0-9]{1,9}"
<total>       ::= r"[0-9]{1,9}|\*"
<size>        ::= r"[0-9]{1,9}" := random.choice(SIZES)
<announced_size> ::= r"[0-9]{1,9}" := random.choice(SIZES[1:])
<body>        ::= <byte>{int(<size>)}
<rest>        ::= rb"(?s:.*)"

# Chunks have their size in hexadecimal digits before them; there may be fields behind the last one.
<chunks>      ::= <chunk>* <last_chunk> <trailer>* "\r\n"
<chunk>       ::= <chunk_size> <extension>? "\r\n" <byte>{int(str(<chunk_size>), 16)} "\r\n"
<chunk_size>  ::= r"0*[1-9A-Fa-f][0-9A-Fa-f]{0,6}" := random.choice(["1", "a", "0A", "1f", "123"])
<last_chunk>  ::= <no_size> <extension>? "\r\n"
<no_size>     ::= r"0+" := random.choice(["0", "000"])
<extension>   ::= r"[ \t]*;[\t -~]*" := ";palaver=1"
<trailer>     ::= <field>


# --- What must hold -----------------------------------------------------------------------------------------------------

# A request names its host once (RFC 9112, 3.2).
where forall <f> in <fetch>: len(*<f>..<host>) == 1
where forall <s> in <submit>: len(*<s>..<host>) == 1
where forall <r> in <head>: len(*<r>..<host>) == 1
where forall <r> in <ranged>: len(*<r>..<host>) == 1
where forall <r> in <conditional>: len(*<r>..<host>) == 1
where forall <r> in <conditional_head>: len(*<r>..<host>) == 1
where forall <r> in <announcement>: len(*<r>..<host>) == 1
where forall <r> in <chunked_announcement>: len(*<r>..<host>) == 1
where forall <r> in <leaving_request>: len(*<r>..<host>) == 1
where forall <r> in <leaving_head>: len(*<r>..<host>) == 1
where forall <r> in <old_request>: len(*<r>..<host>) <= 1
where forall <r> in <old_keeping_request>: len(*<r>..<host>) <= 1
where forall <r> in <old_head>: len(*<r>..<host>) <= 1

# Only the last response closes the connection (RFC 9112, 9.6).
where forall <r> in <response>: len(*<r>..<close>) == 0
where forall <r> in <head_response>: len(*<r>..<close>) == 0
where forall <r> in <partial>: len(*<r>..<close>) == 0
where forall <r> in <not_modified>: len(*<r>..<close>) == 0
where forall <r> in <kept_response>: len(*<r>..<close>) == 0
where forall <r> in <last_response>: len(*<r>..<close>) == 1
where forall <r> in <last_head_response>: len(*<r>..<close>) == 1

# In HTTP/1.0 it is kept if the response says so, too (RFC 9112, 9.3).
where forall <r> in <kept_response>: forall <f> in <r>.<old_full>: len(*<f>..<keep>) == 1
where forall <r> in <from_old>: len(*<r>..<keep>) == 0
where forall <r> in <old_response>: len(*<r>..<keep>) == 0

# A part is one of what was asked for, and is as long as it says (RFC 9110, 15.3.7).
where forall <r> in <ranging>: <r>.<partial>.<part>.<content_range> == fair(<r>.<ranged>.<range>.<wish>, <r>.<partial>.<part>.<content_range>)
where forall <p> in <part>: int(<p>.<length>.<size>) == int(<p>.<content_range>.<final>) - int(<p>.<content_range>.<first>) + 1

# Nobody fails who has set no condition, and no range is too far that was not asked for (RFC 9110, 15.5.13 and 15.5.17).
where forall <a> in <asking>: <a>.<response>..<code> != "412" or len(*<a>.<request>..<guard>) > 0
where forall <a> in <asking>: <a>.<response>..<code> != "416"

# Dates have one form (RFC 9110, 5.6.7).
where forall <f> in <field>: is_well_dated(<f>)

# Nothing has two tags (RFC 9110, 5.3).
where forall <f> in <full>: len(*<f>..<tag>) <= 1
where forall <f> in <chunked>: len(*<f>..<tag>) <= 1
where forall <h> in <head_answer>: len(*<h>..<tag>) <= 1
where forall <p> in <part>: len(*<p>..<tag>) <= 1
where forall <u> in <unchanged>: len(*<u>..<tag>) <= 1

# Who has to prove who he is must be told how (RFC 9110, 15.5.2).
where forall <f> in <full>: <f>.<status>.<code> != "401" or b"www-authenticate" in fields_of(<f>)

# [note] RFC 9110 (15.5.6): who refuses a method must tell those that it allows
where forall <f> in <full>: <f>.<status>.<code> != "405" or b"allow" in fields_of(<f>)

# Nothing is unchanged of which the client knows only a tag that no server has (RFC 9110, 13.1.2).
where forall <r> in <renewing>: len(*<r>.<not_modified>) == 0 or FOREIGN not in str(<r>)

# What was told of a page before must be true of it later.
where reduce(follow, *<exchange>, Site()).mistake == ""
where forall <l> in <last>: follow(reduce(follow, *<exchange>, Site()), <l>).mistake == ""
where forall <p> in <parting>: follow(reduce(follow, *<exchange>, Site()), <p>).mistake == ""


# --- Pages ----------------------------------------------------------------------------------------------------------------

import copy
import random
import re
from functools import reduce

# What we say, if nothing else is asked for.
CODES = ["200", "200", "200", "201", "202", "301", "302", "307", "400", "403", "404", "410", "500", "503"]
SIZES = ["0", "1", "7", "300"]
WISHES = ["0-0", "0-3", "1-", "2-5", "-1", "-4", "-7", "0-99999999", "99999998-"]
FIELDS = ["Accept: */*", "Accept:text/html", "accept-language: de, en;q=0.5", "Cache-Control: no-cache", "X-Palaver: 1", "x-none:", "Pragma:\tno-cache ", "User-Agent: palaver"]
DATE = re.compile("(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT")
FOREIGN = '"palaver"'

def some_field():
    return random.choice(FIELDS) + "\r\n"

def some_tag():
    """One that the server has told, or one that it does not know."""
    return random.choice(sorted(follow.state.tags) * 3 + [FOREIGN])

def some_tags():
    """Some of these. A tag that is called weak is compared as if it were not (RFC 9110, 13.1.2)."""
    tag = some_tag()
    return random.choice([tag, '"palaver-none", ' + tag, "W/" + tag.removeprefix("W/")])

def some_moment():
    return random.choice(sorted(follow.state.moments) or ["Sun, 06 Nov 1994 08:49:37 GMT"])

def fields_of(message):
    """The fields of a message by their names in small letters."""
    lines = bytes(message).partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    pairs = [line.partition(b":") for line in lines]
    return {pair[0].lower(): pair[2].strip(b" \t") for pair in pairs}

def is_well_dated(field):
    """Whether a field is no date, or one as it should be."""
    name, _, value = bytes(field).partition(b":")
    return name.lower() not in (b"date", b"last-modified") or DATE.fullmatch(value.decode("latin-1").strip()) is not None

def fair(wish, content_range):
    """The range of a response, if it is a part of what was asked for; else one that is."""
    first, last = str(wish).split("-")
    told = re.search("([0-9]+)-([0-9]+)/([0-9]+|[*])", str(content_range))
    begin, end, total = int(told[1]), int(told[2]), told[3]
    size = int(total) if total != "*" else end + 1
    least = max(0, size - int(last)) if first == "" else int(first)
    most = size - 1 if first == "" or last == "" else min(int(last), size - 1)
    if least <= begin <= end <= most:
        return str(content_range)
    if first == "":
        return "Content-Range: bytes 7-%d/%d\r\n" % (6 + int(last), 7 + int(last))
    end = int(last) if last else int(first) + 4
    return "Content-Range: bytes %d-%d/%d\r\n" % (int(first), min(end, int(first) + 9), end + 1)

class Site:
    """What the server has told: the body and the path of each tag, moments of changes, and what was wrong with the last response."""

    def __init__(self):
        self.tags = {}
        self.moments = []
        self.mistake = ""

    def __repr__(self):
        return "tags %r, %s" % (self.tags, self.mistake or "nothing wrong")

def follow(site, exchange):
    """What is known after an exchange, with what was wrong with it."""
    messages = list(exchange.protocol_msgs())
    requests = [bytes(each.msg) for each in messages if each.sender == "Client"]
    responses = [bytes(each.msg) for each in messages if each.sender == "Server"]
    finals = [each for each in responses if each[9:10] not in (b"1", b"")]
    questions = [each for each in requests if b" HTTP/1." in each]
    if len(finals) != len(questions) or not is_our_client():
        return site
    following = copy.deepcopy(site)
    for request, response in zip(questions, finals):
        following.mistake = following.mistake or wrong(following, request, response)
        learn(following, request, response)
    return following

def learn(site, request, response):
    fields = fields_of(response)
    tag, moment = fields.get(b"etag", b"").decode("latin-1"), fields.get(b"last-modified", b"").decode("latin-1")
    if response[9:12] == b"200" and request[:4] == b"GET " and b"content-length" in fields:
        if tag:
            site.tags[tag] = (path_of(request), response.partition(b"\r\n\r\n")[2])
        if moment and moment not in site.moments:
            site.moments.append(moment)

def path_of(request):
    return request.split(b" ")[1].removeprefix(b"http://localhost")

def wrong(site, request, response):
    """What is wrong with a response, if anything."""
    asked, told, code = fields_of(request), fields_of(response), response[9:12]
    tag = told.get(b"etag", b"").decode("latin-1")
    wanted = tags_in(asked.get(b"if-none-match", b""))
    if code == b"206" and b"range" not in asked:
        return "no range was asked for"
    if code == b"304":
        return wrong_renewal(site, request, wanted, tag)
    if code == b"200" and request[:4] in (b"GET ", b"HEAD") and tag and tag.removeprefix("W/") in wanted:
        return "304 is due: the tag is %s" % tag
    if code == b"206" and asked.get(b"if-range", b"").decode("latin-1") not in ("", tag) and b"if-range" in asked:
        return "all of it is due: the tag is %s" % tag
    known = site.tags.get(tag)
    if known is None or known[0] != path_of(request) or tag.startswith("W/") or b"content-encoding" in told:
        return ""
    return wrong_body(known[1], request, response)

def wrong_renewal(site, request, wanted, tag):
    asked = fields_of(request)
    if b"if-none-match" not in asked and b"if-modified-since" not in asked:
        return "nothing is known here yet"
    if b"if-none-match" in asked and FOREIGN in wanted and not [each for each in wanted if is_known(site, each)]:
        return "200 is due: there is no such tag"
    if not tag and [each for each in site.tags if site.tags[each][0] == path_of(request)]:
        return "a tag is due, as there was one before"
    return ""

def is_known(site, tag):
    return tag in site.tags or "W/" + tag in site.tags

def tags_in(value):
    """Tags of a list, without what makes them weak."""
    return re.findall('"[^"]*"', value.decode("latin-1"))

def wrong_body(known, request, response):
    """What is wrong with a response whose tag is known, by the body that was told with it."""
    told, body = fields_of(response), response.partition(b"\r\n\r\n")[2]
    size = told.get(b"content-length", b"")
    if request[:4] == b"HEAD":
        return "" if size in (b"", b"%d" % len(known)) or response[9:12] != b"200" else "GET would give %d bytes" % len(known)
    if response[9:12] == b"200" and size and body != known:
        return "another body came with the same tag"
    if response[9:12] == b"206":
        begin, end = [int(each) for each in re.findall(b"[0-9]+", told[b"content-range"])[:2]]
        return "" if known[begin:end + 1] == body else "this is another part of it"
    return ""

follow.state = Site()

def fewest():
    """As a client, palaver has some things to ask. Others may be brief."""
    return 12 if is_our_client() else 0

def most():
    return 40 if is_our_client() else 10000

def early():
    """Others may say what a range depends on before they ask for it."""
    return 0 if is_our_client() else 1

def guards():
    return GUARDED if is_our_client() else 2

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:80", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:80", connection_mode=ConnectionMode.EXTERNAL)
