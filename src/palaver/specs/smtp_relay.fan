# SMTP without a login: the server takes mail from everybody, as OpenSMTPD does on an unencrypted connection.
#
#     palaver talk -f smtp_relay.fan --client 8025
#
# All of smtp.fan, with these rules in place of its own.

include('smtp.fan')

# Whoever has said hello is a member, so there are no guests.
<hello>           ::= (<Client:ehlo> <Server:features> | <Client:helo> <Server:welcome>) <member>
<features>        ::= (
    "250-" <host> r"( [\t -~]*)?" "\r\n" <extension>* r"250 [A-Za-z0-9][A-Za-z0-9-]*([ =][!-~]+)*\r\n"
)

# Who takes mail for everybody may complete an address, so a wrong one is not tried.
<not_now>         ::= <Client:data> <Server:out_of_order>

# Nobody has logged in here.
<disorder>        ::= (<Client:rcpt> | <Client:data>) <Server:out_of_order> | <Client:auth> <no_login_needed>
<no_login_needed> ::= <Server:rejection> | <Server:needless_prompt> <Client:cancel> <Server:cancelled>
# [note] RFC 4954 (4): there is a login, too, which nobody needs
<needless_prompt> ::= <prompt>
