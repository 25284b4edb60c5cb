//! Broken twins of the memory models: what the comparisons are worth. Each twin differs from its memory model in one field of the
//! rules, and both comparisons must notice.

use crate::{agreement, axiomatic};
use unthread_checker::execution::{Buffers, Forwarding, MemoryModel, Rules};
use unthread_generate::{Features, find_counterexample, sketches};

/// Within how many programs a twin must be caught.
const CASES: u32 = 20_000;

fn twins(memory: MemoryModel) -> Vec<Rules> {
    let rules = memory.rules();
    let buffers = [Buffers::None, Buffers::Fifo, Buffers::PerLocation].into_iter();
    let buffers = buffers.filter(|&buffers| buffers != rules.buffers).map(|buffers| Rules { buffers, ..rules });
    if memory == MemoryModel::Sc {
        return buffers.collect();
    }
    let forwarding = [Forwarding::Oldest, Forwarding::Stale, Forwarding::Blocked];
    let mut twins: Vec<Rules> = buffers.collect();
    twins.extend(forwarding.map(|forwarding| Rules { forwarding, ..rules }));
    twins.extend([
        Rules { fence_drains: false, ..rules },
        Rules { rmw_drains: false, ..rules },
        Rules { failed_cas_drains: false, ..rules },
    ]);
    if memory == MemoryModel::Pso {
        twins.push(Rules { same_location_order: false, ..rules });
    }
    twins
}

/// Straight-line programs of two threads: where memory models differ.
fn features(rules: Rules) -> Features {
    // That loads wait for their own stores shows in few programs: two threads that each store, read it back, read the other's.
    let synchronisation = rules.forwarding != Forwarding::Blocked;
    Features { threads: 2, synchronisation, ..Features::MEMORY }
}

type Comparison = fn(&unthread_generate::Sketch, MemoryModel, Rules) -> Result<bool, String>;

fn assert_caught(memory: MemoryModel, comparison: Comparison) {
    for rules in twins(memory) {
        let compare = |rules: Rules| {
            find_counterexample(sketches(features(rules)), CASES, |sketch| comparison(sketch, memory, rules).map(drop))
        };
        let caught = compare(rules).unwrap_or_else(|| panic!("{memory} with {rules:?} was not noticed"));
        assert_eq!(comparison(&caught.sketch, memory, memory.rules()), Ok(true), "the twin is to blame");
    }
}

#[test]
fn the_reference_catches_broken_twins_of_sc() {
    assert_caught(MemoryModel::Sc, agreement::agree);
}

#[test]
fn the_reference_catches_broken_twins_of_tso() {
    assert_caught(MemoryModel::Tso, agreement::agree);
}

#[test]
fn the_reference_catches_broken_twins_of_pso() {
    assert_caught(MemoryModel::Pso, agreement::agree);
}

#[test]
fn the_ordering_rules_catch_broken_twins_of_sc() {
    assert_caught(MemoryModel::Sc, axiomatic::agree);
}

#[test]
fn the_ordering_rules_catch_broken_twins_of_tso() {
    assert_caught(MemoryModel::Tso, axiomatic::agree);
}

#[test]
fn the_ordering_rules_catch_broken_twins_of_pso() {
    assert_caught(MemoryModel::Pso, axiomatic::agree);
}
