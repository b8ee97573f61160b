"""State diagram of a dialogue as Mermaid, DOT or SVG, in colours that show its coverage."""

from __future__ import annotations

from palaver.navigation.coverage_views import CoverageViews, read_views
from palaver.navigation.diagram_model import Diagram, Ink, diagram
from palaver.navigation.dialogue_states import DialogueStateMachine
from palaver.navigation.svg import as_svg

__all__ = ["CoverageViews", "DialogueStateMachine", "as_dot", "as_mermaid", "as_svg", "diagram", "read_views"]

# --- Mermaid ----------------------------------------------------------------------------------------------------------


def as_mermaid(drawn: Diagram) -> str:
    """Render a Mermaid flowchart, which has coloured arrows, unlike its state diagrams. Double lines: may end here."""
    lines = ["flowchart LR"]
    lines += [f"    %% {remark}" for remark in drawn.remarks]
    lines.append("    begin(( ))")
    for index, box in enumerate(drawn.boxes):
        left, right = ("[[", "]]") if box.state.can_end else ("(", ")")
        lines.append(f"    s{index}{left}{_mermaid_text(box.name)}{right}")
    lines.append("    begin --> s0")
    lines += [f"    s{each.source} -->|{_mermaid_text(*each.label)}| s{each.target}" for each in drawn.arrows]
    for ink in Ink:
        boxes = [f"s{index}" for index, box in enumerate(drawn.boxes) if box.ink is ink]
        # The arrow to the first box is number 0.
        arrows = [str(index) for index, arrow in enumerate(drawn.arrows, 1) if arrow.ink is ink]
        if boxes and ink is not Ink.PLAIN:
            lines.append(f"    classDef {ink.name.lower()} fill:{ink.area},stroke:{ink.line},color:#000000")
            lines.append(f"    class {','.join(boxes)} {ink.name.lower()}")
        if arrows and ink is not Ink.PLAIN:
            lines.append(f"    linkStyle {','.join(arrows)} stroke:{ink.line},color:{ink.line}")
    return "".join(f"{line}\n" for line in lines)


# Mermaid marks entities with a number sign. These characters would be markup, or end the text.
_MERMAID_ENTITIES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", "&": "#amp;", "`": "#96;"})


def _mermaid_text(*lines: str) -> str:
    return '"' + "<br>".join(line.translate(_MERMAID_ENTITIES) for line in lines) + '"'


# --- DOT --------------------------------------------------------------------------------------------------------------


def as_dot(drawn: Diagram) -> str:
    """Render a graph for Graphviz. Double lines: the session may end here."""
    lines = ["digraph states {"]
    lines += [f"    // {remark}" for remark in drawn.remarks]
    lines += [
        "    rankdir=LR",
        '    node [shape=box style="rounded,filled" fontname="Helvetica"]',
        '    edge [fontname="Helvetica" fontsize=10]',
        '    begin [shape=point label=""]',
    ]
    for index, box in enumerate(drawn.boxes):
        ends = " peripheries=2" if box.state.can_end else ""
        look = f'color="{box.ink.line}" fillcolor="{box.ink.area}"'
        lines.append(f"    s{index} [label={_dot_text(box.name)} {look}{ends}]")
    lines.append("    begin -> s0")
    for arrow in drawn.arrows:
        look = f'color="{arrow.ink.line}" fontcolor="{arrow.ink.line}"'
        lines.append(f"    s{arrow.source} -> s{arrow.target} [label={_dot_text(*arrow.label)} {look}]")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _dot_text(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
