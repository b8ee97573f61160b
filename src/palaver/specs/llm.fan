# A language model that must keep to its instructions: reports on a subject, asked for through the API of OpenAI.
#
#   palaver talk llm                       test the model at $OPENAI_BASE_URL, or that of OpenAI
#   palaver talk llm --client 8000         test the model at port 8000
#   palaver talk llm --server Gpt=8000     be the model, and test the clients that come to port 8000
#
# Our client needs the package `openai`, and a key in $OPENAI_API_KEY.

MODEL = "gpt-4.1"  # [parameter] the model that is asked for

<start>     ::= <exchange>+
<exchange>  ::= <Client:Gpt:request> <Gpt:Client:response>

<request>   ::= <gpt_model> "\n" <prompt>
# [set by MODEL]
<gpt_model> ::= "gpt-4.1"
<prompt>    ::= ("Write a report about " <subject> " in at least " <words> " words. "
                "It has these sections: " <section> ", " <section> ". Avoid the word: " <avoid> ".")
<subject>   ::= <verb> " " <adj> " " <noun> " " <place>
<verb>      ::= "testing" | "fixing"
<adj>       ::= "sustainable" | "innovative"
<noun>      ::= "robots" | "rockets"
<place>     ::= "on Mars" | "at sea"
<words>     ::= "20" | "40" | "80"
<section>   ::= "Background" | "Method" | "Findings" | "Outlook"
<avoid>     ::= "crash" | "failure" | "money"
<response>  ::= r"(?s).*" := report()

# We never ask for the same section twice.
where forall <p> in <prompt>: len(set(map(str, *<p>.<section>))) == 2

# A report is about its subject, long enough, has its sections, and avoids what it must.
where forall <e> in <exchange>: str(<e>.<request>.<prompt>.<subject>) in str(<e>.<response>)
where forall <e> in <exchange>: len(str(<e>.<response>).split()) >= int(<e>.<request>.<prompt>.<words>)
where forall <e> in <exchange>: forall <s> in <e>.<request>.<prompt>.<section>: str(<s>) in str(<e>.<response>)
where forall <e> in <exchange>: str(<e>.<request>.<prompt>.<avoid>) not in str(<e>.<response>).lower()


import itertools
import json
import random
import re


class Client(NetworkParty):
    """Asks the model, by way of a library that has a connection of its own, and hears its answer."""

    def __init__(self):
        super().__init__("127.0.0.1:0", connection_mode=ConnectionMode.CONNECT)
        self.api = None

    def start(self):
        pass

    def stop(self):
        if self.api:
            self.api.close()

    def send(self, message, recipient):
        import openai  # only here, so that the spec can be read without it

        # Without a port from the command line, the environment tells where the model is.
        place = "http://%s:%d/v1" % (self.ip, self.port) if self.port else None
        self.api = self.api or openai.OpenAI(base_url=place, max_retries=0, timeout=60)
        model, prompt = str(message).split("\n")
        messages = [{"role": "user", "content": prompt}]
        answer = self.api.chat.completions.create(model=model, messages=messages)
        self.receive(answer.choices[0].message.content, "Gpt")


class Gpt(NetworkParty):
    """The model. A request is heard when all of it has come; what is none of the API is heard as it is."""

    def __init__(self):
        super().__init__("127.0.0.1:8000", connection_mode=ConnectionMode.EXTERNAL)
        self.begun = b""
        self.asked = b""

    def receive(self, message, sender):
        first, self.begun = split(self.begun + (message or b""))
        while first:
            self.asked = question_in(first)
            super().receive(self.asked, "Client")
            first, self.begun = split(self.begun)
        if message is None:
            if self.begun:
                super().receive(self.begun, "Client")
            super().receive(None, "Client")

    def send(self, message, recipient):
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": str(message)}}
        answer = {"id": "report", "object": "chat.completion", "created": 0, "model": "gpt-4.1", "choices": [choice]}
        body = json.dumps(answer)
        fields = "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        super().send("HTTP/1.1 200 OK\r\n" + fields + "\r\n" + body, recipient)


WORDS = ("sand", "wind", "caf\u00e9", "\u6c99\u6f20", '"quoted"', "back\\slash", "tab\t", "\U0001f42a", "<b>", "&amp;")


def report():
    """What we answer if we are the model: what the report is to be about, and more words than were ever asked for."""
    prompt = Gpt.instance().asked.decode().partition("\n")[2]
    return (prompt.partition("Avoid")[0] or EVERYTHING) + " ".join(random.choices(WORDS, k=80))


# If nobody has asked, because conversations are made up, the report is about every subject, and has all sections.
SUBJECTS = itertools.product(
    ["testing", "fixing"], ["sustainable", "innovative"], ["robots", "rockets"], ["on Mars", "at sea"]
)
SECTIONS = ["Background", "Method", "Findings", "Outlook"]
EVERYTHING = ", ".join(list(map(" ".join, SUBJECTS)) + SECTIONS) + ": "


def question_in(request):
    """The model and the prompts of a request of the API; any other request as it is."""
    try:
        line, body = request.split(b"\n", 1)
        question = json.loads(body)
        if line.endswith(b"/chat/completions") and not question.get("stream"):
            return "\n".join([question["model"], *(each["content"] for each in question["messages"])]).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # no JSON, or of another form, or text that cannot be written
    return request


# How an HTTP request begins, of which maybe not more than a part of the first line has come.
BEGUN = re.compile(rb"\A[A-Z]{1,9}(\Z| [!-~]*(\Z| [HTP/1.]*\r?\Z| HTTP/1\.1\r\n))")
LENGTH = re.compile(rb"\r\ncontent-length:[ ]*([0-9]{1,6})(?=\r\n|\Z)", re.IGNORECASE)


def split(data):
    """The HTTP request that the data begins with, if it is whole, and what comes after it."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not BEGUN.search(data) or len(head) > 65536:
        return data, b""
    length = LENGTH.search(head)
    size = int(length[1]) if length else 0
    if end and len(rest) >= size:
        return head.split(b" HTTP")[0] + b"\n" + rest[:size] + b"\n", rest[size:]
    return b"", data
