# MQTT 3.1.1: a publisher, a broker and a subscriber, with QoS 0 and 1, wildcards, and retained messages.
#
#     palaver talk mqtt --client 1883        tests the broker that listens on port 1883
#
# palaver is the publisher and the subscriber. It uses topics that begin with `palaver`, and begins each session by
# removing what the broker has retained there. Clients may connect without a name and a password. A broker for a try is
# that of Debian (mosquitto), which needs no configuration: `mosquitto -p 1883`. To test clients, see mqtt_clients.
#
# How to read the rules: <Client:Broker:publish> is the message <publish>, sent by the client to the broker. A rule with
# messages in it is a part of the session; all other rules tell what messages look like.

include('binary.fan')


# --- The session ------------------------------------------------------------------------------------------------------

# The client that publishes is called Client; the other one joins when the broker has accepted the first.
<start>         ::= <joining> <clearing> <visit>{1,4} <leaving>
<joining>       ::= <Client:Broker:connect> <Broker:Client:connack> <Subscriber:Broker:connect> <Broker:Subscriber:connack>
<clearing>      ::= <forget_a> <forget_b> <forget_c>
<forget_a>      ::= <Client:Broker:clear_a> <Broker:Client:puback>
<forget_b>      ::= <Client:Broker:clear_b> <Broker:Client:puback>
<forget_c>      ::= <Client:Broker:clear_c> <Broker:Client:puback>

# The subscriber subscribes, hears what is for it, and unsubscribes. What is retained comes at once, before or behind the
# answer; then the broker is told to forget it.
<visit>         ::= <plain_visit> | <retained_visit>
<plain_visit>   ::= <Subscriber:Broker:subscribe> <Broker:Subscriber:suback> <act>{2,8} <unsubscribing> <silence>?
<retained_visit> ::= <retaining> <meeting> <act>{0,3} <unsubscribing> <forgetting>
<retaining>     ::= <Client:Broker:retain> <Broker:Client:puback>
<meeting>       ::= <Subscriber:Broker:subscribe> <greeting>
<greeting>      ::= (<Broker:Subscriber:suback> <Broker:Subscriber:retained0> | <Broker:Subscriber:retained0> <Broker:Subscriber:suback>
                   | <Broker:Subscriber:suback> <Broker:Subscriber:retained1> <Subscriber:Broker:puback>
                   | <Broker:Subscriber:retained1> <Broker:Subscriber:suback> <Subscriber:Broker:puback>
                   | <Broker:Subscriber:retained1> <Subscriber:Broker:puback> <Broker:Subscriber:suback>)
<forgetting>    ::= <Client:Broker:clear> <Broker:Client:puback>
<unsubscribing> ::= <Subscriber:Broker:unsubscribe> <Broker:Subscriber:unsuback>

# A message with a topic that the subscription matches is delivered, once, and with the lower QoS of the two. Others are
# not delivered, and none are after the end of a subscription.
<act>           ::= <heard0> | <heard1> | <lowered> | <unheard> | <ping>
<heard0>        ::= <Client:Broker:publish0> <Broker:Subscriber:delivery0>
<heard1>        ::= <sent1> <got1>
<lowered>       ::= <sent1> <Broker:Subscriber:delivery0>
<sent1>         ::= <Client:Broker:publish1> <Broker:Client:puback>
<got1>          ::= <Broker:Subscriber:delivery1> <Subscriber:Broker:puback>
<unheard>       ::= <Client:Broker:publish0> | <sent1>
<silence>       ::= <Client:Broker:publish0> | <sent1>
<ping>          ::= <Client:Broker:pingreq> <Broker:Client:pingresp> | <Subscriber:Broker:pingreq> <Broker:Subscriber:pingresp>

# A client says that it leaves, and closes. After a mistake it is the broker that closes, without a word.
<leaving>       ::= <polite> | <mistake>
<polite>        ::= <Client:Broker:disconnect> <Client:Broker:connection_closed> <Subscriber:Broker:disconnect> <Subscriber:Broker:connection_closed>
<mistake>       ::= (<Subscriber:Broker:connect> | <Subscriber:Broker:wrong_flags> | <Subscriber:Broker:wrong_qos> | <Subscriber:Broker:no_filter>) <Broker:Subscriber:connection_ended>
<connection_closed> ::= ""
<connection_ended> ::= ""


# --- Packets: a type with flags, the number of bytes that remain, and those ------------------------------------------------

<connect>       ::= b"\x10" <remaining> <connect_body>
<connect_body>  ::= b"\x00\x04MQTT\x04\x02" <keep_alive> <client_id>
<keep_alive>    ::= <u16> := u16(random.choice([60, 0, 65535]))
<client_id>     ::= <u16> <name>
<name>          ::= rb"palaver[0-9a-z]{12}"
<connack>       ::= b"\x20\x02\x00\x00"

<publish0>      ::= b"\x30" <remaining> <publish0_body>
<delivery0>     ::= b"\x30" <remaining> <publish0_body>
<retained0>     ::= b"\x31" <remaining> <publish0_body>
<publish0_body> ::= <topic> <payload>
<publish1>      ::= b"\x32" <remaining> <publish1_body>
<delivery1>     ::= b"\x32" <remaining> <publish1_body>
<retained1>     ::= b"\x33" <remaining> <publish1_body>
<retain>        ::= b"\x33" <remaining> <retain_body>
<publish1_body> ::= <topic> <packet_id> <payload>
<retain_body>   ::= <topic> <packet_id> <some_payload>
<puback>        ::= b"\x40\x02" <packet_id>

# Without a payload, a retained message is forgotten.
<clear>         ::= b"\x33" <remaining> <clear_body>
<clear_body>    ::= <topic> <packet_id>
<clear_a>       ::= b"\x33\x0d\x00\x09palaver/a" <packet_id>
<clear_b>       ::= b"\x33\x0f\x00\x0bpalaver/a/b" <packet_id>
<clear_c>       ::= b"\x33\x11\x00\x0dpalaver/caf\xc3\xa9" <packet_id>

<subscribe>     ::= b"\x82" <remaining> <subscribe_body>
<subscribe_body> ::= <packet_id> <filter> <qos>
<qos>           ::= rb"[\x00\x01]"
<suback>        ::= b"\x90\x03" <packet_id> <granted>
<granted>       ::= rb"[\x00\x01]"
<unsubscribe>   ::= b"\xa2" <remaining> <unsubscribe_body>
<unsubscribe_body> ::= <packet_id> <filter>
<unsuback>      ::= b"\xb0\x02" <packet_id>
<pingreq>       ::= b"\xc0\x00"
<pingresp>      ::= b"\xd0\x00"
<disconnect>    ::= b"\xe0\x00"

# Mistakes: a subscription with flags that are reserved, with a QoS that there is not, and without a filter.
<wrong_flags>   ::= b"\x80\x0e\x00\x01\x00\x09palaver/a\x00"
<wrong_qos>     ::= b"\x82\x0e\x00\x01\x00\x09palaver/a\x03"
<no_filter>     ::= b"\x82\x02\x00\x01"

<remaining>     ::= rb"[\x80-\xff]{0,3}[\x00-\x7f]"
<packet_id>     ::= rb"(?!\x00\x00)(?s:.{2})"
<topic>         ::= <u16> <topic_name>
<topic_name>    ::= rb"[^\x00#+]{1,60}" := random.choice(TOPICS)
<filter>        ::= <u16> <filter_name>
<filter_name>   ::= rb"[^\x00]{1,60}" := random.choice(FILTERS)
<payload>       ::= rb"(?s:.*)" := random.choice(PAYLOADS)
<some_payload>  ::= rb"(?s:.+)" := random.choice(PAYLOADS[1:])


# --- What must hold -----------------------------------------------------------------------------------------------------

where forall <t> in <topic>: <t>.<u16> == u16(len(bytes(<t>.<topic_name>)))
where forall <f> in <filter>: <f>.<u16> == u16(len(bytes(<f>.<filter_name>)))
where forall <c> in <client_id>: <c>.<u16> == u16(len(bytes(<c>.<name>)))
where forall <p> in <connect>: <p>.<remaining> == varint(len(bytes(<p>.<connect_body>)))
where forall <p> in <publish0>: <p>.<remaining> == varint(len(bytes(<p>.<publish0_body>)))
where forall <p> in <publish1>: <p>.<remaining> == varint(len(bytes(<p>.<publish1_body>)))
where forall <p> in <delivery0>: <p>.<remaining> == varint(len(bytes(<p>.<publish0_body>)))
where forall <p> in <delivery1>: <p>.<remaining> == varint(len(bytes(<p>.<publish1_body>)))
where forall <p> in <retained0>: <p>.<remaining> == varint(len(bytes(<p>.<publish0_body>)))
where forall <p> in <retained1>: <p>.<remaining> == varint(len(bytes(<p>.<publish1_body>)))
where forall <p> in <retain>: <p>.<remaining> == varint(len(bytes(<p>.<retain_body>)))
where forall <p> in <clear>: <p>.<remaining> == varint(len(bytes(<p>.<clear_body>)))
where forall <p> in <subscribe>: <p>.<remaining> == varint(len(bytes(<p>.<subscribe_body>)))
where forall <p> in <unsubscribe>: <p>.<remaining> == varint(len(bytes(<p>.<unsubscribe_body>)))

# Two clients have two names.
where len(set(map(str, *<name>))) == len(*<name>)

# Who acknowledges a packet tells its number.
where forall <s> in <sent1>: <s>.<puback>.<packet_id> == <s>.<publish1>.<publish1_body>.<packet_id>
where forall <g> in <got1>: <g>.<puback>.<packet_id> == <g>.<delivery1>.<publish1_body>.<packet_id>
where forall <g> in <greeting>: <g>.<puback>.<packet_id> == <g>.<retained1>.<publish1_body>.<packet_id>
where forall <m> in <retaining>: <m>.<puback>.<packet_id> == <m>.<retain>.<retain_body>.<packet_id>
where forall <m> in <forgetting>: <m>.<puback>.<packet_id> == <m>.<clear>.<clear_body>.<packet_id>
where forall <f> in <forget_a>: <f>.<puback>.<packet_id> == <f>.<clear_a>.<packet_id>
where forall <f> in <forget_b>: <f>.<puback>.<packet_id> == <f>.<clear_b>.<packet_id>
where forall <f> in <forget_c>: <f>.<puback>.<packet_id> == <f>.<clear_c>.<packet_id>
where forall <u> in <unsubscribing>: <u>.<unsuback>.<packet_id> == <u>.<unsubscribe>.<unsubscribe_body>.<packet_id>
where forall <v> in <plain_visit>: <v>.<suback>.<packet_id> == <v>.<subscribe>.<subscribe_body>.<packet_id>
where forall <m> in <meeting>: <m>.<greeting>.<suback>.<packet_id> == <m>.<subscribe>.<subscribe_body>.<packet_id>

# What is delivered is what was published.
where forall <h> in <heard0>: <h>.<delivery0>.<publish0_body>.<topic> == <h>.<publish0>.<publish0_body>.<topic>
where forall <h> in <heard0>: <h>.<delivery0>.<publish0_body>.<payload> == <h>.<publish0>.<publish0_body>.<payload>
where forall <h> in <heard1>: <h>.<got1>.<delivery1>.<publish1_body>.<topic> == <h>.<sent1>.<publish1>.<publish1_body>.<topic>
where forall <h> in <heard1>: <h>.<got1>.<delivery1>.<publish1_body>.<payload> == <h>.<sent1>.<publish1>.<publish1_body>.<payload>
where forall <h> in <lowered>: <h>.<delivery0>.<publish0_body>.<topic> == <h>.<sent1>.<publish1>.<publish1_body>.<topic>
where forall <h> in <lowered>: <h>.<delivery0>.<publish0_body>.<payload> == <h>.<sent1>.<publish1>.<publish1_body>.<payload>
where forall <v> in <retained_visit>: <v>.<meeting>.<greeting>..<topic> == <v>.<retaining>.<retain>.<retain_body>.<topic>
where forall <v> in <retained_visit>: <v>.<meeting>.<greeting>..<payload> == <v>.<retaining>.<retain>.<retain_body>.<some_payload>
where forall <v> in <retained_visit>: <v>.<forgetting>.<clear>.<clear_body>.<topic> == <v>.<retaining>.<retain>.<retain_body>.<topic>

# It is delivered to who has subscribed to it, and to nobody else.
where forall <v> in <visit>: <v>..<unsubscribe>..<filter_name> == <v>..<subscribe>..<filter_name>
where forall <v> in <visit>: forall <h> in <v>..<heard0>: matches(<v>..<subscribe>..<filter_name>, <h>.<publish0>..<topic_name>)
where forall <v> in <visit>: forall <h> in <v>..<heard1>: matches(<v>..<subscribe>..<filter_name>, <h>.<sent1>..<topic_name>)
where forall <v> in <visit>: forall <h> in <v>..<lowered>: matches(<v>..<subscribe>..<filter_name>, <h>.<sent1>..<topic_name>)
where forall <v> in <visit>: forall <h> in <v>..<unheard>: not matches(<v>..<subscribe>..<filter_name>, <h>..<topic_name>)
where forall <r> in <retaining>: bytes(<r>..<topic_name>).startswith(b"palaver/")
where forall <v> in <retained_visit>: matches(<v>..<subscribe>..<filter_name>, <v>.<retaining>..<topic_name>)

# The broker grants what was asked for, or less, and delivers accordingly.
where forall <v> in <visit>: u8.value(<v>..<granted>) <= u8.value(<v>..<qos>)
where forall <v> in <visit>: forall <h> in <v>..<heard1>: <v>..<granted> == b"\x01"
where forall <v> in <visit>: forall <h> in <v>..<lowered>: <v>..<granted> == b"\x00"
where forall <v> in <visit>: forall <h> in <v>..<retained1>: <v>..<granted> == b"\x01"
where forall <v> in <visit>: forall <h> in <v>..<retained0>: <v>..<granted> == b"\x00"


# --- Topics -------------------------------------------------------------------------------------------------------------

import random

TOPICS = [b"palaver/a", b"palaver/a/b", b"palaver/caf\xc3\xa9", b"palaverish/a"]
FILTERS = [b"palaver/#", b"palaver/+", b"palaver/a", b"palaver/a/b", b"palaver/+/b", b"palaver/a/#", b"palaver/caf\xc3\xa9"]
PAYLOADS = [b"", b"x", b"\x00\xff", b"hello" * 30, b"\xd0\x00\x30\x00"]

def matches(filter, topic):
    """Level by level: + is any, # is all that follow, and the level above them."""
    levels, wanted = bytes(topic).split(b"/"), bytes(filter).split(b"/")
    if wanted[-1:] == [b"#"]:
        wanted = wanted[:-1]
        levels = levels[:len(wanted)]
    return len(levels) == len(wanted) and all(pair[1] in (pair[0], b"+") for pair in zip(levels, wanted))


# --- Parties ------------------------------------------------------------------------------------------------------------

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.CONNECT)
        self.start()

    def receive(self, message, sender):
        Subscriber.instance().join(self.ip, self.port)
        super().receive(message, sender)

class Subscriber(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.CONNECT)

    def join(self, ip, port):
        if not self.is_started:
            self.ip, self.port = ip, port
            self.start()

class Broker(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.EXTERNAL)
