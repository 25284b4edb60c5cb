//! What went wrong, in a sentence that names the two events that matter.
//!
//! By kind: a race names its accesses, a deadlock who took what. Where no interleaving of the threads explains the execution, the cause is a
//! store that was still in its buffer ([`graph`]) or, under a memory model of the language, an ordering that is too weak (`orderings`); otherwise it is what came between two accesses of a thread, or who
//! stored the value that a thread stumbled over ([`between`]).

mod between;
pub mod graph;
mod orderings;
mod relevance;
mod teller;
mod waiting;
mod weak;

use super::story::{StepKind, Story};
use graph::Edge;
use teller::Teller;

/// Why a story went wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// In a sentence, without a full stop; nothing if the violation's message says it all.
    pub sentence: Option<String>,
    /// Positions of the steps that matter most.
    pub events: Vec<usize>,
    /// Steps that come before one another in a circle, if no interleaving explains the execution.
    pub cycle: Vec<Edge>,
}

/// Explains a story that ends with a violation of this kind, and marks the steps of the story that led to it.
pub fn explain(kind: &str, story: &mut Story) -> Explanation {
    let mut explanation = Explanation { cycle: graph::cycle(story), ..Explanation::default() };
    let teller = Teller { story };
    let told = match kind {
        _ if teller.story.graph.is_some() => {
            teller.orderings().or_else(|| teller.race().filter(|_| kind == "data-race"))
        }
        "data-race" => teller.race(),
        _ => teller.weak(&explanation.cycle),
    };
    let told = told.or_else(|| match kind {
        "deadlock" => teller.deadlock(),
        "livelock" => teller.livelock(),
        "use-after-free" => teller.freed(),
        // Who has not given something back is known to the subject.
        "leak" => None,
        "condition" => teller.between(None),
        "null-dereference" => teller.seen(teller.failed()),
        _ => teller.between(teller.failed()),
    });
    if let Some((sentence, events)) = told {
        (explanation.sentence, explanation.events) = (Some(sentence), events);
    }
    relevance::mark(story, &explanation);
    explanation
}

impl Teller<'_> {
    /// The step that failed.
    fn failed(&self) -> Option<usize> {
        self.story.steps.iter().rposition(|step| step.failure.is_some() || step.kind == StepKind::Fail)
    }
}
