//! What makes a graph consistent, as the definitions say it: no order of evaluation, no cases, nothing kept from one
//! graph to the next.

use super::graph::{Event, Graph, Kind, ThreadName};
use super::relation::Relation;
use std::collections::BTreeSet;

/// A memory model as axioms. The fields other than `model` break one of them: such a twin must be told from the right
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axioms {
    pub(crate) model: Model,
    pub(crate) seqcst: SeqCst,
    pub(crate) release_sequence: ReleaseSequence,
    pub(crate) coherence: Coherence,
    /// Whether nothing comes between a read-modify-write and what it read from.
    pub(crate) atomicity: bool,
    /// Whether a compare-exchange that fails has an ordering at all.
    pub(crate) failure_ordering: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Sc,
    Rc11,
    Cpp20,
}

/// What holds for operations that are `SeqCst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeqCst {
    Right,
    /// Broken: nothing.
    Nothing,
    /// Broken: nothing where a read is before the write that overwrites what it read.
    WithoutRb,
    /// Broken: fences are in one order, and each sees all that the earlier ones have seen.
    FencesShareView,
}

/// What an acquire read may read from, to synchronise with a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseSequence {
    /// The write, and read-modify-writes that continue it.
    Right,
    /// Broken: later writes of the same thread, too, as it was before C++20.
    Of2017,
    /// Broken: the write alone.
    Alone,
}

/// Which orders of accesses to one cell must agree with happens-before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coherence {
    Right,
    /// Broken: single steps of reads-from, modification order and reads-before only.
    SingleSteps,
    /// Broken: none.
    Nothing,
}

/// Two accesses that race, by thread and instruction, the lesser first.
pub(crate) type RacingPair = ((ThreadName, usize), (ThreadName, usize));

impl Axioms {
    pub(crate) const fn of(model: Model) -> Axioms {
        Axioms {
            model,
            seqcst: SeqCst::Right,
            release_sequence: ReleaseSequence::Right,
            coherence: Coherence::Right,
            atomicity: true,
            failure_ordering: true,
        }
    }

    /// Whether the graph is consistent. One that is not stays so, whatever is added to it: all relations only grow.
    pub(crate) fn allow(&self, graph: &Graph) -> bool {
        let r = Relations::new(graph, self.release_sequence);
        if self.atomicity && !(&r.rmw & &r.rb.then(&r.mo)).is_empty() {
            return false;
        }
        match self.model {
            Model::Sc => {
                let notified = Relation::of(r.events, graph.notifications.iter().copied());
                (&(&(&r.hb | &r.rf) | &(&r.mo | &r.rb)) | &notified).is_acyclic()
            }
            Model::Rc11 | Model::Cpp20 => self.is_coherent(&r, &r.hb) && self.seqcst_holds(graph, &r),
        }
    }

    /// The two accesses of each data race.
    pub(crate) fn races(&self, graph: &Graph) -> BTreeSet<RacingPair> {
        let hb = Relations::new(graph, self.release_sequence).hb;
        let conflict = |a: &Event, b: &Event| {
            let same_cell = a.cell().is_some() && a.cell() == b.cell();
            let atomic = a.is_atomic() && b.is_atomic();
            a.thread != b.thread && same_cell && (a.is_write() || b.is_write()) && !atomic
        };
        let racing = &(&graph.pairs(conflict) - &hb) - &hb.inverse();
        let place = |event: usize| {
            let event = &graph.events[event];
            (event.thread.expect("what was there from the start races with nothing"), event.pc)
        };
        racing.pairs().map(|(a, b)| (place(a), place(b))).map(|(a, b)| (a.min(b), a.max(b))).collect()
    }

    /// Whether a block is used, or freed again, and that does not happen before it is freed.
    pub(crate) fn uses_freed(&self, graph: &Graph) -> bool {
        let hb = Relations::new(graph, self.release_sequence).hb;
        let is_late = |user: &Event, free: &Event| match free.kind {
            Kind::Free { first, cells } => user.uses(first, cells),
            _ => false,
        };
        !(&graph.pairs(is_late) - &hb).is_empty()
    }

    /// Whether somebody uses what another thread has made, and that it was made does not happen before.
    pub(crate) fn uses_unmade(&self, graph: &Graph) -> bool {
        let hb = Relations::new(graph, self.release_sequence).hb;
        let of_other = |made: usize, event: usize| {
            let (made, event) = (&graph.events[made], &graph.events[event]);
            made.thread != event.thread && event.cell() == made.cell()
        };
        let users = |made: usize| (0..graph.events.len()).map(move |event| (made, event));
        graph
            .made
            .iter()
            .flat_map(|&made| users(made))
            .any(|(made, event)| of_other(made, event) && !hb.has(made, event))
    }

    /// `irreflexive(hb; eco?)`.
    fn is_coherent(&self, r: &Relations, hb: &Relation) -> bool {
        let order = match self.coherence {
            Coherence::Right => (&(&r.rf | &r.mo) | &r.rb).closure(),
            Coherence::SingleSteps => &(&r.rf | &r.mo) | &r.rb,
            Coherence::Nothing => Relation::empty(r.events),
        };
        hb.then(&order.optional()).is_irreflexive()
    }

    fn seqcst_holds(&self, graph: &Graph, r: &Relations) -> bool {
        if self.seqcst == SeqCst::Nothing {
            return true;
        }
        if self.seqcst == SeqCst::FencesShareView && !self.fences_share_view(graph, r) {
            return false;
        }
        let rb = if self.seqcst == SeqCst::WithoutRb { Relation::empty(r.events) } else { r.rb.clone() };
        match self.model {
            Model::Rc11 => rc11_order(graph, r, &rb).is_acyclic(),
            _ => cpp20_order(graph, r, &rb).is_acyclic(),
        }
    }

    /// Whether the graph is coherent with all `SeqCst` fences in some total order that is part of happens-before. A
    /// machine with one such view performs events along program order and reads-from, so fences are in an order that
    /// agrees with these.
    fn fences_share_view(&self, graph: &Graph, r: &Relations) -> bool {
        let is_fence = |event: &usize| graph.events[*event].is_fence() && graph.events[*event].is_seqcst();
        permutations((0..r.events).filter(is_fence).collect()).into_iter().any(|order| {
            let steps = Relation::of(r.events, order.windows(2).map(|pair| (pair[0], pair[1])));
            let hb = (&r.hb | &steps).closure();
            (&hb | &r.rf).is_acyclic() && self.is_coherent(r, &hb)
        })
    }
}

/// What the axioms of every model are made of.
struct Relations {
    events: usize,
    sb: Relation,
    rf: Relation,
    mo: Relation,
    rb: Relation,
    rmw: Relation,
    sw: Relation,
    hb: Relation,
    /// Pairs of accesses to one cell.
    loc: Relation,
}

impl Relations {
    fn new(graph: &Graph, release_sequence: ReleaseSequence) -> Relations {
        let events = graph.events.len();
        let on = |is: &dyn Fn(&Event) -> bool| Relation::on(events, graph.set(is));
        let (sb, rf, mo) = (graph.sb(), graph.rf(), graph.mo());
        let rmw = Relation::of(events, graph.rmw.iter().copied());
        let rb = &rf.inverse().then(&mo) - &on(&|_| true);
        let loc = graph.pairs(|a, b| a.cell().is_some() && a.cell() == b.cell());
        // rs = [W & atomic]; (rf; rmw)*
        let atomic_write = on(&|event| event.is_write() && event.is_atomic());
        let rs = match release_sequence {
            ReleaseSequence::Right => atomic_write.then(&rf.then(&rmw).any_steps()),
            ReleaseSequence::Alone => atomic_write,
            ReleaseSequence::Of2017 => {
                let later = (&sb & &loc).then(&atomic_write).optional();
                atomic_write.then(&later).then(&rf.then(&rmw).any_steps())
            }
        };
        // sw = [≥rel]; ([F]; sb)?; rs; rf; [R & atomic]; (sb; [F])?; [≥acq]
        let fence = on(&Event::is_fence);
        let from_release = on(&Event::releases).then(&fence.then(&sb).optional()).then(&rs);
        let to_acquire = on(&|event| event.is_read() && event.is_atomic())
            .then(&sb.then(&fence).optional())
            .then(&on(&Event::acquires));
        let sw = from_release.then(&rf).then(&to_acquire);
        let hand_over = Relation::of(events, graph.hand_over.iter().copied());
        let hb = (&(&sb | &sw) | &hand_over).closure();
        Relations { events, sb, rf, mo, rb, rmw, sw, hb, loc }
    }
}

/// `([SC] | [F_SC]; hb?); scb; ([SC] | hb?; [F_SC]) | [F_SC]; (hb | hb; eco; hb); [F_SC]`, where
/// `scb = sb | sb≠loc; hb; sb≠loc | hb & loc | mo | rb`.
fn rc11_order(graph: &Graph, r: &Relations, rb: &Relation) -> Relation {
    let elsewhere = &r.sb - &r.loc;
    let far = elsewhere.then(&r.hb).then(&elsewhere);
    let scb = &(&(&r.sb | &far) | &(&r.hb & &r.loc)) | &(&r.mo | rb);
    let eco = (&(&r.rf | &r.mo) | rb).closure();
    let fences = Relation::on(r.events, graph.set(|event| event.is_fence() && event.is_seqcst()));
    let between = &r.hb | &r.hb.then(&eco).then(&r.hb);
    &around(graph, r, &scb) | &fences.then(&between).then(&fences)
}

/// `([SC] | [F_SC]; hb?); eco; ([SC] | hb?; [F_SC]) | [SC]; shb; [SC]`, where `shb = (sb | [SC]; sw; [SC] | sb; hb;
/// sb)⁺`.
fn cpp20_order(graph: &Graph, r: &Relations, rb: &Relation) -> Relation {
    let eco = (&(&r.rf | &r.mo) | rb).closure();
    let seqcst = Relation::on(r.events, graph.set(Event::is_seqcst));
    let shb = &(&r.sb | &seqcst.then(&r.sw).then(&seqcst)) | &r.sb.then(&r.hb).then(&r.sb);
    &around(graph, r, &eco) | &seqcst.then(&shb.closure()).then(&seqcst)
}

/// `([SC] | [F_SC]; hb?); middle; ([SC] | hb?; [F_SC])`.
fn around(graph: &Graph, r: &Relations, middle: &Relation) -> Relation {
    let seqcst = Relation::on(r.events, graph.set(Event::is_seqcst));
    let fences = Relation::on(r.events, graph.set(|event| event.is_fence() && event.is_seqcst()));
    let before = &seqcst | &fences.then(&r.hb.optional());
    let after = &seqcst | &r.hb.optional().then(&fences);
    before.then(middle).then(&after)
}

fn permutations(of: Vec<usize>) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![vec![]];
    }
    let with_first = |&first: &usize| {
        let rest = permutations(of.iter().copied().filter(|other| *other != first).collect());
        rest.into_iter().map(move |rest| [vec![first], rest].concat())
    };
    of.iter().flat_map(with_first).collect()
}
