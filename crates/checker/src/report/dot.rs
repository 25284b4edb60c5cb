//! The execution graph of a story for GraphViz: a cluster per thread, arrows for what comes before what. Arrows of a cycle are red.

use super::explain::graph::{Edge, Relation};
use super::explain::{Explanation, graph};
use super::story::{StepKind, Story};
use std::fmt::Write as _;

/// A graph with this title, as text in GraphViz's language.
pub fn dot(title: &str, story: &Story, explanation: &Explanation) -> String {
    let mut text = format!("digraph {} {{\n", quoted(title));
    let label = explanation.sentence.as_deref().unwrap_or(title);
    let _ = writeln!(text, "  label={}; labelloc=t; rankdir=TB; newrank=true;", quoted(label));
    text += "  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=11]; edge [fontsize=10];\n";
    for (thread, name) in story.threads.iter().enumerate() {
        cluster(&mut text, thread, name, story, &explanation.events);
    }
    let edges = graph::edges(story);
    for &edge in &edges {
        arrow(&mut text, edge, explanation.cycle.contains(&edge), story.graph.is_some());
    }
    // Program order within a cycle may span several steps.
    let spanning = |edge: &&Edge| edge.relation == Relation::ProgramOrder && !edges.contains(edge);
    for edge in explanation.cycle.iter().filter(spanning) {
        let _ = writeln!(text, "  s{} -> s{} [color=red, constraint=false];", edge.from, edge.to);
    }
    text + "}\n"
}

fn cluster(text: &mut String, thread: usize, name: &str, story: &Story, events: &[usize]) {
    let steps = story.steps.iter().enumerate();
    let mut own =
        steps.filter(|(_, step)| usize::from(step.thread) == thread && step.kind != StepKind::Flush).peekable();
    if own.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "  subgraph cluster_{thread} {{\n    label={}; color=grey;", quoted(name));
    for (at, step) in own {
        let matters = if events.contains(&at) { ", penwidth=2, color=orange" } else { "" };
        let failed = if step.failure.is_some() { ", fontcolor=red" } else { "" };
        let label = quoted(&format!("{}  :{}", step.text, step.line));
        let _ = writeln!(text, "    s{at} [label={label}{matters}{failed}];");
    }
    *text += "  }\n";
}

fn arrow(text: &mut String, edge: Edge, in_cycle: bool, is_graph: bool) {
    let (name, style) = match edge.relation {
        Relation::ProgramOrder => ("", "color=grey"),
        Relation::ReadsFrom => ("rf", "color=blue"),
        Relation::Coherence if is_graph => ("mo", "color=brown"),
        Relation::Coherence => ("co", "color=brown"),
        Relation::FromRead if is_graph => ("rb", "color=darkgreen"),
        Relation::FromRead => ("fr", "color=darkgreen"),
        Relation::Synchronisation => ("sync", "color=purple"),
        Relation::SynchronisesWith => ("sw", "color=purple"),
    };
    let style = if in_cycle { "color=red, fontcolor=red, penwidth=2" } else { style };
    let _ = writeln!(text, "  s{} -> s{} [label=\"{name}\", {style}];", edge.from, edge.to);
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
