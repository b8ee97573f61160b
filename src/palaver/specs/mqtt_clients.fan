# MQTT 3.1.1 for testing existing clients: mosquitto_pub, mosquitto_sub, paho and others, with QoS 0 and 1.
#
#     palaver talk mqtt_clients --server 1883        tests the clients that connect to port 1883
#
# palaver is the broker. It answers what a client asks for, and delivers messages to who has subscribed. For testing a
# broker, see mqtt.

include('mqtt.fan')

<start>         ::= <Client:Broker:any_connect> <hasty>* (<accepting> <task>* <leaving>? <parting> | <hasty_leaving> <parting> | <parting>)
<task>          ::= <Client:Broker:any_publish0> | <storing> | <storing_both> | <subscribing>
<storing>       ::= <Client:Broker:any_publish1> <Broker:Client:puback>
<storing_both>  ::= <first> <second> <first_ack> <second_ack>
<first>         ::= <Client:Broker:any_publish1>
<second>        ::= <Client:Broker:any_publish1>
<first_ack>     ::= <Broker:Client:puback>
<second_ack>    ::= <Broker:Client:puback>

# A client need not wait until it is accepted (3.1.4): what it has sent before is answered after that, in order.
<hasty>         ::= <Client:Broker:any_publish0>
<accepting>     ::= <Broker:Client:connack> | <hasty_storing> | <hasty_both> | <hasty_subscribing>
<hasty_storing> ::= <Client:Broker:any_publish1> <hasty>* <Broker:Client:connack> <Broker:Client:puback>
<hasty_both>    ::= <first> <hasty>* <second> <hasty>* <Broker:Client:connack> <first_ack> <second_ack>
<hasty_subscribing> ::= <Client:Broker:subscribe> <hasty>* <Broker:Client:connack> <Broker:Client:suback> <news>{1,3} <ending>?
<subscribing>   ::= <Client:Broker:subscribe> <Broker:Client:suback> <news>{1,3} <ending>?
<news>          ::= <Broker:Client:delivery0> | <Broker:Client:delivery1> <Client:Broker:puback>
<ending>        ::= <Client:Broker:unsubscribe> <Broker:Client:unsuback>
# A client may leave while a delivery is on its way: the broker forgets it, or delivers it again later (3.14, 4.4).
<leaving>       ::= <Client:Broker:subscribe> <Broker:Client:suback> <news>{0,2} <unheard>
<hasty_leaving> ::= <Client:Broker:subscribe> <hasty>* <Broker:Client:connack> <Broker:Client:suback> <news>{0,2} <unheard>
<unheard>       ::= <Broker:Client:delivery1>
# Its connection may be reset then.
<parting>       ::= <Client:Broker:disconnect>? <Client:Broker:connection_ended>

# A client may look whether the broker is still there.
<at_any_time>   ::= <Client:Broker:pingreq> <Broker:Client:pingresp>

# With a name that is empty, the broker chooses one. Then come the topic and the text of a will, a user, and a password.
<any_connect>   ::= b"\x10" <remaining> <any_connect_body>
<any_connect_body> ::= b"\x00\x04MQTT\x04" <connect_flags> <u16> <field> <field>{0,4}
<connect_flags> ::= rb"[\x00-\xfe]"
<field>         ::= <u16> <field_text>
<field_text>    ::= rb"(?s:.*)" := random.choice([b"", b"palaver"])
<any_publish0>  ::= rb"[\x30\x31]" <remaining> <publish0_body>
<any_publish1>  ::= rb"[\x32\x33\x3a\x3b]" <remaining> <publish1_body>

where forall <f> in <field>: <f>.<u16> == u16(len(bytes(<f>.<field_text>)))
where forall <p> in <any_connect>: <p>.<remaining> == varint(len(bytes(<p>.<any_connect_body>)))
where forall <f> in <connect_flags>: are_right(<f>)
where forall <b> in <any_connect_body>: len(*<b>.<field>) == fields_of(<b>.<connect_flags>)
where forall <p> in <any_publish0>: <p>.<remaining> == varint(len(bytes(<p>.<publish0_body>)))
where forall <p> in <any_publish1>: <p>.<remaining> == varint(len(bytes(<p>.<publish1_body>)))
where forall <s> in <storing>: <s>.<puback>.<packet_id> == <s>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <hasty_storing>: <s>.<puback>.<packet_id> == <s>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <storing_both>: <s>.<first_ack>.<puback>.<packet_id> == <s>.<first>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <storing_both>: <s>.<second_ack>.<puback>.<packet_id> == <s>.<second>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <hasty_both>: <s>.<first_ack>.<puback>.<packet_id> == <s>.<first>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <hasty_both>: <s>.<second_ack>.<puback>.<packet_id> == <s>.<second>.<any_publish1>.<publish1_body>.<packet_id>
where forall <s> in <subscribing>: <s>.<suback>.<packet_id> == <s>.<subscribe>.<subscribe_body>.<packet_id>
where forall <s> in <subscribing>: <s>.<suback>.<granted> == <s>.<subscribe>.<subscribe_body>.<qos>
where forall <s> in <subscribing>: <s>.<news>.<delivery0>.<publish0_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <subscribing>: <s>.<news>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <subscribing>: forall <d> in <s>..<delivery1>: <s>.<subscribe>.<subscribe_body>.<qos> == b"\x01"
where forall <s> in <hasty_subscribing>: <s>.<suback>.<packet_id> == <s>.<subscribe>.<subscribe_body>.<packet_id>
where forall <s> in <hasty_subscribing>: <s>.<suback>.<granted> == <s>.<subscribe>.<subscribe_body>.<qos>
where forall <s> in <hasty_subscribing>: <s>.<news>.<delivery0>.<publish0_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <hasty_subscribing>: <s>.<news>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <hasty_subscribing>: forall <d> in <s>..<delivery1>: <s>.<subscribe>.<subscribe_body>.<qos> == b"\x01"
where forall <s> in <leaving>: <s>.<suback>.<packet_id> == <s>.<subscribe>.<subscribe_body>.<packet_id>
where forall <s> in <leaving>: <s>.<suback>.<granted> == <s>.<subscribe>.<subscribe_body>.<qos>
where forall <s> in <leaving>: <s>.<news>.<delivery0>.<publish0_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <leaving>: <s>.<news>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <leaving>: <s>.<unheard>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <leaving>: forall <d> in <s>..<delivery1>: <s>.<subscribe>.<subscribe_body>.<qos> == b"\x01"
where forall <s> in <hasty_leaving>: <s>.<suback>.<packet_id> == <s>.<subscribe>.<subscribe_body>.<packet_id>
where forall <s> in <hasty_leaving>: <s>.<suback>.<granted> == <s>.<subscribe>.<subscribe_body>.<qos>
where forall <s> in <hasty_leaving>: <s>.<news>.<delivery0>.<publish0_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <hasty_leaving>: <s>.<news>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <hasty_leaving>: <s>.<unheard>.<delivery1>.<publish1_body>.<topic>.<topic_name> == topic_for(<s>.<subscribe>..<filter_name>)
where forall <s> in <hasty_leaving>: forall <d> in <s>..<delivery1>: <s>.<subscribe>.<subscribe_body>.<qos> == b"\x01"
where forall <n> in <news>: <n>.<puback>.<packet_id> == <n>.<delivery1>.<publish1_body>.<packet_id>
where forall <e> in <ending>: <e>.<unsuback>.<packet_id> == <e>.<unsubscribe>.<unsubscribe_body>.<packet_id>

def topic_for(filter):
    """A topic that the filter matches."""
    return bytes(filter).replace(b"+", b"a").replace(b"#", b"a/b")

def are_right(flags):
    """The lowest is reserved; a will has a QoS from 0 to 2, and without one all is 0; a password needs a user (3.1.2)."""
    bits = u8.value(flags)
    will, qos = bits >> 2 & 1, bits >> 3 & 3
    return bits & 1 == 0 and qos < 3 and (will == 1 or bits & 0x38 == 0) and not bits & 0xC0 == 0x40

def fields_of(flags):
    """The name, two fields of a will, a user and a password."""
    bits = u8.value(flags)
    return 1 + 2 * (bits >> 2 & 1) + (bits >> 7) + (bits >> 6 & 1)

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.EXTERNAL)

class Broker(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.OPEN)
        self.start()
