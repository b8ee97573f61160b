# SMTP (RFC 5321): greeting, login with AUTH LOGIN, sending mail.
#
# The spec describes both sides, so palaver can play either of them:
#
#     palaver talk -f smtp.fan --client 8025        tests the server that listens on port 8025
#     palaver talk -f smtp.fan --server 8025        tests the clients that connect to port 8025
#
# The server takes mail only from those who have logged in. How to read the rules: <Client:mail> is the message <mail>,
# sent by the client. A rule with messages in it is a part of the session; all other rules tell what messages look like.


# --- Parameters -------------------------------------------------------------------------------------------------------

# `--set user=joe` sets one. What a rule gets from them stands above it.
USER = "the_user"  # [parameter] the account that logs in
PASSWORD = "the_password"  # [parameter] its password
NAMES = []  # [parameter] names before the @ of addresses; any if there are none
DOMAINS = []  # [parameter] domains of addresses, and of the client; any below example if there are none
MOST_MISTAKES = 1000  # [parameter] mistakes in a session; Exim hangs up on the fourth one
MOST_PAUSES = 1000  # [parameter] commands in a session that are not about mail; Exim hangs up on the eleventh one


# --- The session ------------------------------------------------------------------------------------------------------

<start>           ::= <Server:greeting> <too_early>? <hello> | <turned_away>
<too_early>       ::= <Client:mail> (<Server:out_of_order> | <Server:mail_before_hello>)

# HELO is the hello of old. It knows no extensions, so there is no login.
<hello>           ::= <new_hello> | <Client:helo> <Server:welcome> <no_login>? <farewell>
<new_hello>       ::= <Client:ehlo> (<Server:features> <guest> | <no_accounts>)
<no_login>        ::= <Client:auth> (<Server:refused> | <login_after_helo>)

# Nobody has logged in yet. An attempt to log in may turn out well or not: who has named the right user may still give
# the wrong password. So after AUTH several rules are followed at once, and what is said next decides between them.
<guest>           ::= <attempt> | <farewell> | <sent_away> | <locked_out>
<attempt>         ::= <login_good> <member> | (<login_bad> | <login_ended> | <not_allowed>) <guest>
<login_good>      ::= <Client:auth> <Server:prompt> <Client:user> <Server:prompt> <Client:password> <Server:logged_in>
<login_bad>       ::= <Client:auth> <Server:prompt> <wrong_account> <Server:login_failed>
<wrong_account>   ::= (<Client:user> | <Client:wrong_user>) <Server:prompt> <Client:wrong_password>
<login_ended>     ::= <Client:auth> <Server:prompt> <Client:cancel> <Server:cancelled>
<not_allowed>     ::= <Client:mail> (<Server:login_needed> | <Server:not_from_guests_now> | <refused_later>)

# Somebody has logged in. Whatever is done then, the state is the same afterwards, so the rule ends with itself.
<member>          ::= (<transaction> | <disorder> | <pause> | <put_off>) <member> | <farewell> | <shut_down>
<disorder>        ::= (<Client:rcpt> | <Client:data> | <Client:auth>) <Server:out_of_order>
<pause>           ::= <Client:noop> <Server:ok> | <Client:help> <Server:advice> | <Client:vrfy> <Server:verified>

# First the envelope, then the message. RSET drops the envelope.
<transaction>     ::= <Client:mail> <Server:ok> <not_now>? (<Client:rcpt> <Server:recipient_ok> <addressed> | <reset>)
<not_now>         ::= <Client:data> <Server:out_of_order> | <Client:bad_rcpt> <Server:refused>
<addressed>       ::= <bystander>* <delivery> | <reset>
<bystander>       ::= <Client:copy> <Server:recipient_ok>
<delivery>        ::= <Client:data> <Server:go_ahead> <Client:message> <Server:ok>
<reset>           ::= <Client:rset> <Server:ok>

<farewell>        ::= <Client:quit> <Server:bye>


# --- What servers differ in -------------------------------------------------------------------------------------------

# Who plays the client takes these as they come, and tells of each of them once.

# [note] RFC 4954 (3): the server offers no AUTH LOGIN, so nobody logs in; smtp_relay tests a server that needs no login
<no_accounts>     ::= <Server:other_features> (<pause> | <unserved>)* <farewell>
# Only clients under test try to send mail then.
<unserved>        ::= <Client:mail> <Server:login_needed>

# [note] RFC 5321 (4.1.1.1): mail is taken from a client that has not said hello
<mail_before_hello> ::= r"(250-[\t -~]*\r\n)*250( [\t -~]*)?" "\r\n"

# [note] RFC 4954 (3): AUTH is accepted after HELO, which offers no extensions
<login_after_helo> ::= <Server:prompt_after_helo> <Client:cancel> <Server:cancelled>
<prompt_after_helo> ::= r"334 ([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?" "\r\n"

# [note] RFC 4954 (6): who has not logged in may name a sender, and is refused when it comes to the recipient
<refused_later>   ::= <Server:sender_of_guest> <Client:rcpt> <Server:no_relaying> <another>? <reset>
<another>         ::= <Client:copy> (<Server:no_relaying> | <Server:local_recipient>)
<local_recipient> ::= r"(25[01]-[\t -~]*\r\n)*25[01]( [\t -~]*)?" "\r\n"
<sender_of_guest> ::= r"(250-[\t -~]*\r\n)*250( [\t -~]*)?" "\r\n"
<no_relaying>     ::= <rejection>

# [note] RFC 5321 (4.2.1): the server wants to be asked again later
<put_off>         ::= <Client:mail> (<Server:not_from_you_now> | <Server:ok> <Client:rcpt> <Server:not_to_them_now> <reset>)
<not_from_you_now> ::= r"(4[03-9][0-9]-[\t -~]*\r\n)*4[03-9][0-9]( [\t -~]*)?" "\r\n"
<not_to_them_now> ::= r"(4[03-9][0-9]-[\t -~]*\r\n)*4[03-9][0-9]( [\t -~]*)?" "\r\n"

# [note] RFC 5321 (4.2.1): the server wants to be asked again later by who has not logged in
<not_from_guests_now> ::= r"(4[03-9][0-9]-[\t -~]*\r\n)*4[03-9][0-9]( [\t -~]*)?" "\r\n"

# [note] RFC 5321 (3.8): the server ends the session
<shut_down>       ::= <unheeded> <Server:closing> <Client:quit>? <Server:connection_ended>
<unheeded>        ::= <Client:mail> | <Client:noop> | <Client:rcpt> | <Client:data> | <Client:auth> | <Client:help> | <Client:vrfy>
<closing>         ::= r"(421-[\t -~]*\r\n)*421( [\t -~]*)?" "\r\n"
<connection_ended> ::= ""

# [note] RFC 5321 (3.1, 3.8): the server has no service, or no time, for us
<turned_away>     ::= <Server:no_service> (<Client:quit> <Server:bye>?)? <Server:connection_ended>
<no_service>      ::= r"((421|554)-[\t -~]*\r\n)*(421|554)( [\t -~]*)?" "\r\n"

# [note] RFC 5321 (3.8): the server ends the session of who has not logged in
<sent_away>       ::= (<Client:mail> | <Client:auth>) <Server:closing> <Server:connection_ended>

# [note] RFC 5321 (3.8): the server ends the session of who cannot log in
<locked_out>      ::= <Client:auth> <Server:prompt> <wrong_account> <Server:closing> <Server:connection_ended>


# --- What the client says ---------------------------------------------------------------------------------------------

<ehlo>            ::= "EHLO " <domain> "\r\n"
<helo>            ::= "HELO " <domain> "\r\n"
<auth>            ::= "AUTH LOGIN\r\n"
<user>            ::= <user_base64> "\r\n"
<wrong_user>      ::= <wrong_base64> "\r\n"
<password>        ::= <password_base64> "\r\n"
<wrong_password>  ::= <wrong_base64> "\r\n"
<cancel>          ::= "*\r\n"
<mail>            ::= "MAIL FROM:<" <address> ">\r\n"
<rcpt>            ::= "RCPT TO:<" <address> ">\r\n"
<copy>            ::= "RCPT TO:<" <address> ">\r\n"
<bad_rcpt>        ::= "RCPT TO:<" <name> "@>\r\n"
<data>            ::= "DATA\r\n"
<rset>            ::= "RSET\r\n"
<noop>            ::= "NOOP\r\n"
<help>            ::= "HELP\r\n"
<vrfy>            ::= "VRFY " <address> "\r\n"
<quit>            ::= "QUIT\r\n"

<address>         ::= <name> "@" <domain>
# [set by NAMES]
<name>            ::= r"[a-z][a-z0-9]{0,7}(\.[a-z]{1,8})?"
# [set by DOMAINS]
<domain>          ::= r"([a-z]{1,8}\.)?example(\.com|\.org)?"

# A dot on a line of its own ends a message. So a line of text that begins with a dot gets another one in front.
<message>         ::= <sent_by> <sent_to> "Date: " <moment> "\r\nSubject: " <text> "\r\n\r\n" <line>* ".\r\n"
<sent_by>         ::= "From: <" <address> ">\r\n"
<sent_to>         ::= "To: <" <address> ">\r\n"
<line>            ::= <text> "\r\n" | ".." <text> "\r\n"
<text>            ::= r"[A-Za-z0-9][A-Za-z0-9 ,!?]{0,40}"


# --- What the server says ---------------------------------------------------------------------------------------------

# Codes are for programs. What follows them is for people, and every server has its own words. A reply may have several
# lines; all but the last have a hyphen behind the code (RFC 5321, 4.2).
<greeting>        ::= "220 " <host> r"( [\t -~]*)?" "\r\n" | <long_greeting>
<welcome>         ::= "250 " <host> r"( [\t -~]*)?" "\r\n" | <long_welcome>
<prompt>          ::= r"334 ([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?" "\r\n"
<logged_in>       ::= r"(235-[\t -~]*\r\n)*235( [\t -~]*)?" "\r\n"
<cancelled>       ::= r"(501-[\t -~]*\r\n)*501( [\t -~]*)?" "\r\n"
<ok>              ::= r"(250-[\t -~]*\r\n)*250( [\t -~]*)?" "\r\n"
<recipient_ok>    ::= r"(25[0-2]-[\t -~]*\r\n)*25[0-2]( [\t -~]*)?" "\r\n"
<go_ahead>        ::= r"(354-[\t -~]*\r\n)*354( [\t -~]*)?" "\r\n"
<bye>             ::= r"(221-[\t -~]*\r\n)*221( [\t -~]*)?" "\r\n"

# When something is wrong, servers differ in the code. RFC 5321 (4.3.2) and 4954 (6) tell which there are: who has not
# logged in may get 530 for all that needs it, and where a login needs encryption, it is refused with 538 even if it was
# never offered. That a login is missing should be told by 530, and need not (4954, 6).
<out_of_order>    ::= r"(5(03|30|38|54)-[\t -~]*\r\n)*5(03|30|38|54)( [\t -~]*)?" "\r\n"
<login_failed>    ::= r"(4[03-9][0-9]-[\t -~]*\r\n)*4[03-9][0-9]( [\t -~]*)?|(5[0-9]{2}-[\t -~]*\r\n)*5[0-9]{2}( [\t -~]*)?" "\r\n"
<login_needed>    ::= r"(5(03|[35][0-9])-[\t -~]*\r\n)*5(03|[35][0-9])( [\t -~]*)?" "\r\n"
<refused>         ::= r"(5[0-9]{2}-[\t -~]*\r\n)*5[0-9]{2}( [\t -~]*)?" "\r\n"
<rejection>       ::= r"([45][0-9]{2}-[\t -~]*\r\n)*[45][0-9]{2}( [\t -~]*)?" "\r\n"

# No server has to give help, or to tell which names there are (RFC 5321, 3.5.3 and 4.5.1).
<advice>          ::= (
    r"(21[14]-[\t -~]*\r\n)*21[14]( [\t -~]*)?|((250|50[0-4]|530)-[\t -~]*\r\n)*(250|50[0-4]|530)( [\t -~]*)?" "\r\n"
)
<verified>        ::= (
    r"(25[0-2]-[\t -~]*\r\n)*25[0-2]( [\t -~]*)?|((45[0-4]|50[0-4]|530|55[0-5])-[\t -~]*\r\n)*(45[0-4]|50[0-4]|530|55[0-5])( [\t -~]*)?" "\r\n"
)

# After EHLO each line tells of an extension, in any order. One of them is the login that the rules above need.
<features>        ::= "250-" <host> r"( [\t -~]*)?" "\r\n" <extension>* <login_offer>
<extension>       ::= r"250-[A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*" "\r\n"
<login_offer>     ::= (
    r"250-AUTH( [A-Z0-9_-]+)* LOGIN( [A-Z0-9_-]+)*\r\n(250-[A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*\r\n)*250 [A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*|250 AUTH( [A-Z0-9_-]+)* LOGIN( [A-Z0-9_-]+)*"
    "\r\n"
)
<other_features>  ::= (
    "250-" <host> r"( [\t -~]*)?\r\n(250-[A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*\r\n)*250 [A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*" "\r\n"
    | "250 " <host> r"( [\t -~]*)?" "\r\n"
)
<host>            ::= r"[A-Za-z0-9.-]+|\[[0-9A-Za-z.:]+\]"

# [note] RFC 5321 (4.2): the greeting has several lines, which not every client reads
<long_greeting>   ::= "220-" <host> r"( [\t -~]*)?\r\n(220-[\t -~]*\r\n)*220( [\t -~]*)?" "\r\n"

# [note] RFC 5321 (4.2): the answer to HELO has several lines, which not every client reads
<long_welcome>    ::= "250-" <host> r"( [\t -~]*)?\r\n(250-[\t -~]*\r\n)*250( [\t -~]*)?" "\r\n"


# --- What is no part of the session -----------------------------------------------------------------------------------

# `palaver talk --beyond` says what is wrong on purpose. The first of these that fits decides: without an answer behind
# it, the protocol allows what was said, though the rules above never say it (RFC 5321, 4.1.1 and 4.1.4); with one, it
# must be answered so (4.2.4), and the session goes on as if it had not been said. A server may always say 421 and
# leave (3.8), or 221 to who does not speak SMTP, as Postfix does. AUTH and MAIL are not judged: they are forbidden only
# after a login, and inside of a transaction (RFC 4954, 4; RFC 5321, 4.1.4).
# A client that hears what is no reply must not take it for one: it leaves, or begins anew (4.2, 4.3.2).
<beyond>          ::= <allowed> | <replies> | <no_reply> | <early_rcpt> | <early_data> | <misspelt>
<replies>         ::= <Server:any_reply>
<no_reply>        ::= <Server:any_words> (<Client:retreat> | <Client:hung_up>)
<allowed>         ::= <Client:any_at_any_time> | <Client:any_auth> | <Client:any_mail>
<early_rcpt>      ::= <Client:any_rcpt> <Server:bad_order> <Server:hung_up>?
<early_data>      ::= <Client:any_data> <Server:bad_order> <Server:hung_up>?
<misspelt>        ::= <Client:any_line> <no_such_thing>
<no_such_thing>   ::= <Server:bad_command> <Server:hung_up>? | (<Server:closing> | <Server:goodbye>) <Server:hung_up>
<any_at_any_time> ::= r"(?i:(noop|help)( [ -~]*)?|rset|quit|starttls|(ehlo|helo) [\t -~]+|(vrfy|expn) [!-~][ -~]*)[ \t]*" "\r\n"
<any_mail>        ::= r"(?i:mail from:) ?(<[!-=?-~]*>|[!-;=?-~]+)( [!-~]+)*[ \t]*" "\r\n"
<any_rcpt>        ::= r"(?i:rcpt to:) ?(<[!-=?-~]+>|[!-;=?-~]+)( [!-~]+)*[ \t]*" "\r\n"
<any_auth>        ::= r"(?i:auth) [A-Za-z0-9_-]+( [A-Za-z0-9+/=]+)?[ \t]*" "\r\n"
<any_data>        ::= r"(?i:data)[ \t]*" "\r\n"
<any_line>        ::= r"[^\r\n]*" "\r\n"
<any_reply>       ::= r"([2-5][0-9]{2}-[^\r\n]*\r\n)*[2-5][0-9]{2}( [^\r\n]*)?" "\r\n"
<any_words>       ::= r"[^\r\n]*" "\r\n"
<retreat>         ::= r"(?i:quit|rset|noop|(helo|ehlo|auth) [^\r\n]*|\*)" "\r\n"
<bad_order>       ::= r"([45][0-9]{2}-[\t -~]*\r\n)*(421|45[0-9]|50[0-4]|521|53[0-9]|55[0-9])( [\t -~]*)?" "\r\n"
<goodbye>         ::= r"(221-[\t -~]*\r\n)*221( [\t -~]*)?" "\r\n"
<bad_command>     ::= r"([45][0-9]{2}-[\t -~]*\r\n)*(50[0-4]|521|53[0-9]|55[0-9])( [\t -~]*)?" "\r\n"
<hung_up>         ::= ""


# --- What is computed -------------------------------------------------------------------------------------------------

import base64
from email.utils import formatdate, parsedate_to_datetime

# User and password are sent in base64 (RFC 4954). What stands behind := computes the value: <user_base64> from a
# <user_name> when it is said, and the other way round when it is heard.
<user_base64>     ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<user_name>)
# [set by USER]
<user_name>       ::= "the_user" := decoded(<user_base64>)
<password_base64> ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<secret>)
# [set by PASSWORD]
<secret>          ::= "the_password" := decoded(<password_base64>)
<wrong_base64>    ::= r"[A-Za-z0-9+/]+={0,2}" := encoded(<guess>)
# [set by PASSWORD]
<guess>           ::= r"(?!the_password\Z)[a-z]{1,12}" := decoded(<wrong_base64>)

def encoded(plain):
    return base64.b64encode(str(plain).encode()).decode()

def decoded(code):
    return base64.b64decode(str(code), validate=True).decode()

# The date of a message (RFC 5322) is made from a number of seconds since 1970.
<moment>          ::= r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} \+0000" := date_of(<second>)
<second>          ::= r"1[0-9]{9}" := second_of(<moment>)

def date_of(second):
    return formatdate(int(second)).replace("-0000", "+0000")

def second_of(moment):
    return str(int(parsedate_to_datetime(str(moment)).timestamp()))


# --- What must hold ---------------------------------------------------------------------------------------------------

# A message names its sender and its recipient, as its envelope does. Who gets a copy is not named.
where forall <t> in <transaction>: <t>..<sent_by>.<address> == <t>.<mail>.<address>
where forall <t> in <transaction>: <t>..<sent_to>.<address> == <t>.<rcpt>.<address>

# A server has one name.
where <greeting>..<host> == <features>.<host>
where <greeting>..<host> == <other_features>.<host>
where <greeting>..<host> == <welcome>..<host>

# Who offers a login must let it be tried.
where forall <f> in <other_features>: " LOGIN" not in str(<f>).upper()

where forall <u> in <unserved>: not is_our_client()

# Some servers hang up on those who make many mistakes, or say much that is not about mail: Exim at the fourth and at the
# eleventh time. RFC 5321 (3.8) forbids it, unless they say 421 before. Who knows that of his server sets limits.
where (
    len(*<disorder>.<rcpt>) + len(*<disorder>.<data>) + len(*<disorder>.<auth>)
    + len(*<unheeded>.<rcpt>) + len(*<unheeded>.<data>) + len(*<unheeded>.<auth>)
    + len(*<not_now>.<data>) + len(*<bad_rcpt>) <= MOST_MISTAKES
)
where len(*<noop>) + len(*<help>) + len(*<vrfy>) + len(*<rset>) + len(*<auth>) <= MOST_PAUSES

def is_our_client():
    """False also if nobody plays, because conversations are made up or read."""
    client = FandangoIO.instance().parties.get("Client")
    return client is not None and client.is_fuzzer_controlled()
