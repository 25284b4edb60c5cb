//! Free choices. A few other values have a literal each; of many, the number of the chosen one is spelt in bits, so that a choice among thousands costs a handful of literals.

use super::{Causality, Given, Rest, Values};
use crate::solver::{Lit, Solution};

/// So many other values have a literal each, and exclude one another pair by pair.
const FEW: usize = 16;

/// The values that can be chosen, spelt in bits.
pub(super) struct Chosen {
    low: i64,
    high: i64,
    /// What was chosen in the run, if something was.
    same: Option<i64>,
    /// Of how much the value is greater than the lowest, the lowest bit first.
    bits: Vec<Lit>,
}

impl Chosen {
    /// Whether this is a value other than that of the run.
    pub(super) fn contains(&self, value: i64) -> bool {
        (self.low..self.high).contains(&value) && self.same != Some(value)
    }

    /// The value of a solution.
    pub(super) fn value(&self, solution: &Solution) -> i64 {
        let bits = self.bits.iter().enumerate().map(|(at, &bit)| i64::from(solution.holds(bit)) << at);
        self.low + bits.sum::<i64>()
    }

    /// Literals of which all are true if this value is chosen.
    pub(super) fn spelling(&self, value: i64) -> impl Iterator<Item = Lit> {
        let number = value.wrapping_sub(self.low);
        self.bits.iter().enumerate().map(move |(at, &bit)| if number >> at & 1 == 1 { bit } else { !bit })
    }
}

impl Causality {
    /// The event chooses a value from a range.
    pub(super) fn add_choices(&mut self, event: usize, low: i64, high: i64, given: &Given<'_>) {
        let same = self.events[event].same.map(|_| self.events[event].result);
        let others: Vec<i64> = (low..high).filter(|&value| Some(value) != same).collect();
        if others.len() > FEW {
            return self.add_spelt_choice(event, low..high, &others, given);
        }
        let literals: Vec<Lit> = others.into_iter().map(|value| self.other(event, value)).collect();
        for (at, &first) in literals.iter().enumerate() {
            for &second in &literals[at + 1..] {
                self.problem.clause([!first, !second]);
            }
        }
    }

    fn add_spelt_choice(&mut self, event: usize, range: std::ops::Range<i64>, others: &[i64], given: &Given<'_>) {
        let same = self.events[event].same.map(|_| self.events[event].result);
        let highest = range.end - range.start - 1;
        let n_bits = i64::BITS - highest.leading_zeros();
        let bits: Vec<Lit> = (0..n_bits).map(|_| self.problem.var()).collect();
        // A number that is not too high: where it first differs from the highest, it has 0.
        for (at, &bit) in bits.iter().enumerate().filter(|&(at, _)| highest >> at & 1 == 0) {
            let above = bits.iter().enumerate().filter(|&(other, _)| other > at && highest >> other & 1 == 1);
            let clause: Vec<Lit> = above.map(|(_, &other)| !other).chain([!bit]).collect();
            self.problem.clause(clause);
        }
        let lit = self.deviation(event);
        let chosen = Chosen { low: range.start, high: range.end, same, bits };
        if let Some(same) = same {
            let clause: Vec<Lit> = chosen.spelling(same).map(|bit| !bit).chain([!lit]).collect();
            self.problem.clause(clause);
        }
        for &value in others.iter().filter(|&&value| !(given.is_over)() && (given.named)(event, value)) {
            let named = self.problem.var();
            for bit in chosen.spelling(value).chain([lit]) {
                self.problem.clause([!named, bit]);
            }
            self.events[event].named.push((value, named));
        }
        self.events[event].rest = Some(Rest { lit, values: Values::Chosen(chosen) });
    }
}
