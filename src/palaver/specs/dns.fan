# DNS over UDP: questions about a zone, and answers with aliases, referrals and EDNS (RFC 1035, 2308, 6891)
#
# Names are written out in this grammar. On the wire a name may end with a pointer to an earlier one; the parties at
# the end of this file undo that in all they hear, and do it in all they say.
#
# The questions are about a zone which <asked_name>, `rcodes_of` and `least_answers` describe, and `palaver specs dns
# --fixture DIR` makes. For one with other names in it, change these three. Left out is what name servers do not say about such a zone, though they could: other
# records than these in the last two sections, and anything behind the record with the extensions.

# --- parameters -------------------------------------------------------------------------------------------------------

# `--set zone=example.org` sets one. What a rule gets from them stands above it.
ZONE = "example.test"  # [parameter] the zone that the server has
CLOSED = "closed.test"  # [parameter] a zone that it refuses to tell about


# --- exchanges --------------------------------------------------------------------------------------------------------

<start> ::= <exchange>+
<exchange> ::= <plain_exchange> | <extended_exchange>
<plain_exchange> ::= <Client:Server:query> <Server:Client:response>
<extended_exchange> ::= <Client:Server:extended_query> <Server:Client:extended_response>


# --- questions --------------------------------------------------------------------------------------------------------

<query> ::= <framing> <query_header> <zero> <zero> <zero> <asked>
<extended_query> ::= <framing> <query_header> <zero> <zero> <one> <asked> <query_opt>
<framing> ::= ""
<query_header> ::= <id> <query_flags> <one>
<query_flags> ::= 0 <opcode> 0 0 <recursion_desired> 0 0 <authentic> <unchecked> 0 0 0 0
<id> ::= rb"[\x00-\xff]{2}"
<opcode> ::= 0 0 0 0
<recursion_desired> ::= 0 | 1
<authentic> ::= 0 | 1
<unchecked> ::= 0 | 1
<one> ::= b"\x00\x01"
<zero> ::= b"\x00\x00"

<asked> ::= <question>
<question> ::= <asked_name> <asked_type> <internet>
<asked_name> ::= <host> <zone> | <zone> | <closed>
<asked_type> ::= <type_a> | <type_ns> | <type_cname> | <type_soa> | <type_mx> | <type_txt> | <type_aaaa>
# [set by ZONE as labels]
<zone> ::= b"\x07example\x04test\x00"
<host> ::= b"\x03ns1" | b"\x04mail" | <alias> | <large> | <below> | <wild> | <missing>
<alias> ::= b"\x03www" | b"\x05chain" | b"\x08dangling" | b"\x07endless"
<large> ::= b"\x05large"
<below> ::= b"\x04host\x03sub"
<wild> ::= rb"\x04[a-z0-9]{4}\x04wild"
<missing> ::= rb"\x06no-[a-z0-9]{3}"
# [set by CLOSED as labels]
<closed> ::= b"\x06closed\x04test\x00"

<query_opt> ::= <root> <type_opt> <udp_size> <zero> <edns_flags> (<zero> | b"\x00\x0c" <query_cookie>)
<udp_size> ::= b"\x02\x00" | rb"[\x04-\xff][\x00-\xff]"
<query_cookie> ::= b"\x00\x0a\x00\x08" <client_cookie>


# --- answers ----------------------------------------------------------------------------------------------------------

<response> ::= <framing> <response_header> <additional_count> <sections> <additional>{int(<additional_count>)}
<extended_response> ::= (
    <framing> <response_header> <extended_count> <sections> <additional>{int(<extended_count>) - 1} <response_opt>
)
<response_header> ::= <id> <response_flags> <one> <answer_count> <authority_count>
<sections> ::= <echoed> <answer>{int(<answer_count>)} <authority>{int(<authority_count>)}
<echoed> ::= <question>
<response_flags> ::= (
    1 <opcode> <authoritative> <truncated> <recursion_desired>
    <recursion_available> 0 <authentic> <unchecked> <rcode>
)
<authoritative> ::= 0 | 1
<truncated> ::= 0 | 1
<recursion_available> ::= 0 | 1
<rcode> ::= <no_error> | <server_failure> | <no_such_name> | <refused>
<no_error> ::= 0 0 0 0
<server_failure> ::= 0 0 1 0
<no_such_name> ::= 0 0 1 1
<refused> ::= 0 1 0 1
# No section of an answer about this zone has more than seven records.
<answer_count> ::= 0{13} <bit>{3}
<authority_count> ::= 0{13} <bit>{3}
<additional_count> ::= 0{13} <bit>{3}
<extended_count> ::= 0{13} (0 0 1 | 0 1 <bit> | 1 <bit> <bit>)
<bit> ::= 0 | 1

<answer> ::= <name> <answer_data>
<answer_data> ::= <a> | <ns> | <cname> | <soa> | <mx> | <txt> | <aaaa>
<authority> ::= <name> <authority_data>
<authority_data> ::= <ns> | <soa>
<additional> ::= <name> <address>
<address> ::= <a> | <aaaa>

<a> ::= <type_a> <internet> <ttl> b"\x00\x04" <ipv4>
<ns> ::= <type_ns> <internet> <ttl> <size> <name>
<cname> ::= <type_cname> <internet> <ttl> <size> <name>
<soa> ::= <type_soa> <internet> <ttl> <size> <name> <name> <number>{5}
<mx> ::= <type_mx> <internet> <ttl> <size> <preference> <name>
<txt> ::= <type_txt> <internet> <ttl> <text>
<aaaa> ::= <type_aaaa> <internet> <ttl> b"\x00\x10" <ipv6>

<type_a> ::= b"\x00\x01"
<type_ns> ::= b"\x00\x02"
<type_cname> ::= b"\x00\x05"
<type_soa> ::= b"\x00\x06"
<type_mx> ::= b"\x00\x0f"
<type_txt> ::= b"\x00\x10"
<type_aaaa> ::= b"\x00\x1c"
<type_opt> ::= b"\x00\x29"
<internet> ::= b"\x00\x01"
<ttl> ::= rb"[\x00-\x7f][\x00-\xff]{3}"
<size> ::= <bit>{16}
<ipv4> ::= rb"[\x00-\xff]{4}"
<ipv6> ::= rb"[\x00-\xff]{16}"
<number> ::= rb"[\x00-\xff]{4}"
<preference> ::= rb"[\x00-\xff]{2}"
<character> ::= rb"[\x20-\x7e]"

# Only its size tells a text from the record behind it. So it is read as bytes, and these as strings.
<text> ::= <text_size> <octet>{int(<text_size>)} := with_size(<strings>)
<text_size> ::= <bit>{16}
<strings> ::= <character_string>{1,3} := bytes(<text>)[2:]
<character_string> ::= <string_length> <character>{ord(str(<string_length>))}
<string_length> ::= rb"[\x00-\x7f]"
<octet> ::= rb"[\x00-\xff]"

# Names stay far below the limit of 255 bytes.
<name> ::= <label>{0,4} <root>
<label> ::= <label_length> <letter>{ord(str(<label_length>))}
<label_length> ::= rb"[\x01-\x1f]"
<letter> ::= rb"[a-z0-9_-]"
<root> ::= b"\x00"

<response_opt> ::= <root> <type_opt> <server_size> <zero> <edns_flags> <options>
<options> ::= (
    <zero> | b"\x00\x1c" <response_cookie> | <error_size> <extended_error>
    | <both_size> <response_cookie> <extended_error>
)
<error_size> ::= rb"\x00[\x06-\x45]"
<both_size> ::= rb"\x00[\x22-\x61]"
<response_cookie> ::= b"\x00\x0a\x00\x18" <client_cookie> <server_cookie>
<extended_error> ::= b"\x00\x0f" <option_size> <info_code> <character>{int(<option_size>) - 2}
<option_size> ::= 0{10} <bit>{6}
<info_code> ::= rb"\x00[\x00-\x18]"
<server_size> ::= rb"[\x02-\xff][\x00-\xff]"
<edns_flags> ::= <dnssec_ok> 0{15}
<dnssec_ok> ::= 0 | 1
<client_cookie> ::= rb"[\x00-\xff]{8}"
<server_cookie> ::= rb"[\x00-\xff]{16}"


# --- what holds between them ------------------------------------------------------------------------------------------

where forall <e> in <exchange>:
    <e>..<response_header>.<id> == <e>..<query_header>.<id>
where forall <e> in <exchange>:
    <e>..<echoed>.<question> == <e>..<asked>.<question>
where forall <e> in <exchange>:
    <e>..<response_flags>.<recursion_desired> == <e>..<query_flags>.<recursion_desired>
where forall <e> in <exchange>:
    int(<e>..<rcode>) in rcodes_of(<e>..<asked>)
where forall <e> in <exchange>:
    int(<e>..<answer_count>) >= least_answers(<e>..<asked>, <e>..<rcode>)

# [note] RFC 1034 (3.6.2): aliases that lead round in a circle should be signalled as an error
where forall <e> in <exchange>:
    is_signalled(<e>..<asked>, <e>..<rcode>)

# Every answer is about the name that was asked for, or about one that aliases lead to, and is an alias or of the type
# that was asked for.
where forall <e> in <exchange>:
    [bytes(name) for name in *<e>..<answer>.<name>] == names_due(<e>..<asked>, *<e>..<answer>)
where forall <e> in <exchange>:
    forall <r> in <e>..<answer>:
        len(*<r>.<answer_data>.<cname>) == 1 or bytes(<r>.<answer_data>)[:2] == bytes(<e>..<asked>..<asked_type>)

# Only the large name does not fit into the smallest datagrams.
where forall <e> in <exchange>:
    int(<e>..<truncated>) <= len(*<e>..<asked>..<large>)

# A name that does not exist is denied by the zone that would have it.
where forall <e> in <exchange>:
    int(<e>..<authority_count>) >= denials(<e>..<asked>, *<e>..<sections>)
where forall <e> in <exchange>:
    len(*<e>..<authority>..<soa>) == 1 or len(*<e>..<authority>..<soa>) >= denials(<e>..<asked>, *<e>..<sections>)

where forall <e> in <exchange>:
    len(*<e>..<response_cookie>) <= len(*<e>..<query_cookie>)
where forall <e> in <exchange>:
    <e>..<response_cookie>.<client_cookie> == <e>..<query_cookie>.<client_cookie>

where forall <d> in <answer_data>: int(<d>..<size>) == len(bytes(<d>)) - 10
where forall <d> in <authority_data>: int(<d>..<size>) == len(bytes(<d>)) - 10
where forall <o> in <options>: bytes(<o>.<error_size>) == bytes_of(len(bytes(<o>)) - 2)
where forall <o> in <options>: bytes(<o>.<both_size>) == bytes_of(len(bytes(<o>)) - 2)
where forall <x> in <extended_error>: int(<x>.<option_size>) == len(bytes(<x>)) - 4

A = b"\x00\x01"
CNAME = b"\x00\x05"
ALIASES = [b"\x03www", b"\x05chain", b"\x08dangling", b"\x07endless"]

def in_labels(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\x00"

ZONE_NAME = in_labels(ZONE)
CLOSED_NAME = in_labels(CLOSED)

def bytes_of(number):
    return number.to_bytes(2, "big")

def with_size(data):
    return bytes_of(len(bytes(data))) + bytes(data)

NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME, REFUSED = 0, 2, 3, 5

def host_of(question):
    """The part of the name before the zone."""
    return bytes(question)[:-4].removesuffix(ZONE_NAME)

def rcodes_of(question):
    asked, host = bytes(question), host_of(question)
    if asked[:-4].endswith(CLOSED_NAME):
        return [REFUSED]
    if asked[-4:-2] != CNAME:
        if host == b"\x07endless":
            return [NO_ERROR, SERVER_FAILURE]  # its aliases go round
        if host == b"\x08dangling":
            return [NO_SUCH_NAME]
    return [NO_SUCH_NAME] if host.startswith(b"\x06no-") else [NO_ERROR]

def is_signalled(question, rcode):
    return SERVER_FAILURE not in rcodes_of(question) or int(rcode) == SERVER_FAILURE

def least_answers(question, rcode):
    """Whatever an alias is asked for, it answers with what it is an alias of; most other names have an address."""
    host = host_of(question)
    if int(rcode) == SERVER_FAILURE:
        return 0
    if host in ALIASES:
        return 1
    has_address = bytes(question)[-4:-2] == A and host not in (b"\x04host\x03sub", b"\x05large")
    return 1 if has_address and rcodes_of(question) == [NO_ERROR] else 0

def denials(question, answered):
    return 1 if answered and rcodes_of(question) == [NO_SUCH_NAME] else 0

def names_due(question, answers):
    """The names that answers must be about: the one asked for or, behind an alias, what that is an alias of."""
    asked = bytes(question)
    names = [asked[:-4]]
    for answer in answers:
        aliases = [] if asked[-4:-2] == CNAME else [bytes(alias) for alias in answer.find_subtrees("<cname>")]
        names.append(aliases[0][10:] if aliases else names[-1])
    return names[:-1]


# --- what is no part of the session -----------------------------------------------------------------------------------

# `palaver talk --beyond` says what is wrong on purpose. The first of these that fits decides: without an answer behind
# it, what was said is allowed, though the rules above never say it; with one, it must be answered so, and the session
# goes on as if it had not been said. Where a server cannot read a question, it may say so or nothing; what it must not
# do is to answer it. A response is no question (RFC 1035, 4.1.1), and opcodes 3 and 7 to 15 are not assigned (RFC 6895,
# 2.2). A question has one name (RFC 9619, 4). Another version of EDNS must be answered with BADVERS (RFC 6891, 6.1.3).
<beyond> ::= <responding> | <cut_off> | <unassigned> | <crowded> | <new_version> | <allowed> | <malformed>
<responding> ::= <Client:Server:any_response> <not_answered>
<cut_off> ::= <Client:Server:no_header> <not_answered>
<unassigned> ::= <Client:Server:no_such_opcode> <not_answered>
<crowded> ::= <Client:Server:many_questions> <not_answered>
<new_version> ::= <Client:Server:later_version> (<Server:Client:bad_version> | <Server:Client:error>)
<allowed> ::= <Client:Server:other_opcode> | <Client:Server:any_query> | <Client:Server:cookie_only>
<malformed> ::= <Client:Server:any_datagram> <not_answered>
<not_answered> ::= <Server:Client:error> | <Server:Client:silence>

<any_response> ::= rb"[\x00-\xff]{2}[\x80-\xff][\x00-\xff]{9,}"
<no_header> ::= rb"[\x00-\xff]{0,11}"
<no_such_opcode> ::= rb"[\x00-\xff]{2}[\x18-\x1f\x38-\x7f][\x00-\xff]{9,}"
<other_opcode> ::= rb"[\x00-\xff]{2}[\x08-\x17\x20-\x37][\x00-\xff]{9,}"
<many_questions> ::= rb"[\x00-\xff]{2}[\x00-\x07][\x00-\xff](\x00[\x02-\xff]|[\x01-\xff][\x00-\xff])[\x00-\xff]{6,}"
<later_version> ::= (
    rb"[\x00-\xff]{2}[\x00-\x07][\x00-\xff]\x00\x01\x00{5}\x01" <any_name> rb"[\x00-\xff]{4}"
    rb"\x00\x00\x29[\x00-\xff]{3}[\x01-\xff][\x00-\xff]{2}" (b"\x00\x00" | b"\x00\x0c" <query_cookie>)
)
<any_query> ::= (
    rb"[\x00-\xff]{2}[\x00-\x07][\x00-\xff]\x00\x01[\x00-\xff]{6}" <any_name> rb"[\x00-\xff]{4}" rb"[\x00-\xff]*"
)
# A cookie may be asked for without a question (RFC 7873, 5.4).
<cookie_only> ::= rb"[\x00-\xff]{2}[\x00-\x07][\x00-\xff]\x00{6}(\x00[\x01-\xff]|[\x01-\xff][\x00-\xff])[\x00-\xff]*"
<any_name> ::= <any_label>* (b"\x00" | rb"[\xc0-\xff][\x00-\xff]")
<any_label> ::= <any_length> <octet>{ord(str(<any_length>))}
<any_length> ::= rb"[\x01-\x3f]"
<any_datagram> ::= rb"[\x00-\xff]*"

# Format error, server failure, not implemented, refused, or not authoritative.
<error> ::= rb"[\x00-\xff]{2}[\x80-\xff][\x01\x02\x04\x05\x09\x11\x12\x14\x15\x19\x21\x22\x24\x25\x29\x31\x32\x34\x35\x39\x41\x42\x44\x45\x49\x51\x52\x54\x55\x59\x61\x62\x64\x65\x69\x71\x72\x74\x75\x79\x81\x82\x84\x85\x89\x91\x92\x94\x95\x99\xa1\xa2\xa4\xa5\xa9\xb1\xb2\xb4\xb5\xb9\xc1\xc2\xc4\xc5\xc9\xd1\xd2\xd4\xd5\xd9\xe1\xe2\xe4\xe5\xe9\xf1\xf2\xf4\xf5\xf9][\x00-\xff]*"
<bad_version> ::= rb"[\x00-\xff]{2}[\x80-\xff][\x00\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0][\x00-\xff]*\x00\x00\x29[\x00-\xff]{2}\x01[\x00-\xff]*"
<silence> ::= ""


# --- names as they are on the wire ------------------------------------------------------------------------------------

# Where the names are in the data of a record, behind so many bytes, by its type.
NAMES = {2: (0, 1), 5: (0, 1), 6: (0, 2), 15: (2, 1)}

class Malformed(Exception):
    pass

class Reader:
    """Reads a message, and writes it again with its names as `write_name` wants them."""

    def __init__(self, message, write_name):
        self.message = message
        self.write_name = write_name
        self.position = 12
        self.written = bytearray(message[:12])

    def copied(self):
        counts = [self.number(at) for at in (4, 6, 8, 10)]
        for _ in range(counts[0]):
            self.name()
            self.take(4)
        for _ in range(sum(counts[1:])):
            self.record()
        if self.position != len(self.message):
            raise Malformed("something follows the last record")
        return bytes(self.written)

    def record(self):
        self.name()
        kind = self.number(self.position)
        self.take(10)
        size, size_at = self.number(self.position - 2), len(self.written) - 2
        end = self.position + size
        before, names = NAMES.get(kind, (size, 0))
        self.take(before)
        for _ in range(names):
            self.name()
        self.take(end - self.position)
        if len(self.written) > 65535:
            raise Malformed("no message is so long")
        self.written[size_at:size_at + 2] = bytes_of(len(self.written) - size_at - 2)

    def take(self, count):
        if count < 0 or self.position + count > len(self.message):
            raise Malformed("the message ends too soon")
        self.written += self.message[self.position:self.position + count]
        self.position += count

    def number(self, at):
        return int.from_bytes(self.message[at:at + 2], "big")

    def name(self):
        labels, self.position = labels_at(self.message, self.position)
        self.write_name(self.written, labels)

def labels_at(message, position):
    """The labels of a name, and where it ends. A pointer leads back, or nowhere: so none leads round in circles."""
    labels = []
    end = None
    first = position
    size = 1
    while True:
        length = message[position] if position < len(message) else 64
        if length == 0:
            return labels, end or position + 1
        if length < 64:
            labels.append(bytes(message[position + 1:position + 1 + length]))
            position += 1 + length
            size += 1 + length
        elif length >= 192 and position + 1 < len(message):
            end = end or position + 2
            position = (length - 192) * 256 + message[position + 1]
            if not 12 <= position < first:
                raise Malformed("a pointer does not lead back")
            first = position
        else:
            raise Malformed("no label")
        if size > 255:
            raise Malformed("a name is too long")

def write_in_full(written, labels):
    for label in labels:
        written.append(len(label))
        written += label
    written.append(0)

class Shortened:
    """Writes names with pointers to where their ends were written before."""

    def __init__(self):
        self.places = {}

    def write(self, written, labels):
        for i in range(len(labels)):
            rest = tuple(labels[i:])
            if rest in self.places:
                written += bytes_of(0xC000 + self.places[rest])
                return
            if len(written) < 0x4000:
                self.places[rest] = len(written)
            written.append(len(labels[i]))
            written += labels[i]
        written.append(0)

def in_full(message):
    """A message with all names written out; as it is, if they cannot be read. The grammar knows no pointers."""
    try:
        return Reader(message, write_in_full).copied()
    except Malformed:
        return message

def shortened(message):
    """A message whose names end with pointers wherever they can."""
    return Reader(message, Shortened().write).copied()


# --- parties ----------------------------------------------------------------------------------------------------------

ADDRESS = "udp://127.0.0.1:53"

class Speaker(NetworkParty):
    def send(self, message, recipient):
        super().send(shortened(bytes(message)), recipient)

    def receive(self, message, sender):
        super().receive(message if message is None else in_full(message), sender)

class Client(Speaker):
    def __init__(self):
        super().__init__(ADDRESS, connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(Speaker):
    def __init__(self):
        super().__init__(ADDRESS, connection_mode=ConnectionMode.EXTERNAL)
