//! What can still be told of registers: not their values, but what expressions make of them.
//!
//! `a` and `b`, when all that is left is `assert(a == b)`, are equal or they are not. So for every place where a thread can stop there is a list of *tests*: the largest parts of
//! expressions that can be evaluated later and depend on nothing but what registers hold now. Values that give all tests the same results cannot be told apart by anything that
//! the thread will ever do, and are replaced by the simplest such values. Threads with the same future then compare equal, as with dead registers (`liveness.rs`), of which
//! this is the next step.

use super::{Expr, ExprOver, Instr, Liveness, Pc, Reg, Routine};

/// For every instruction of a routine, what can be told of the registers there.
#[derive(Clone, Debug)]
pub struct Essence {
    groups: Vec<Vec<Group>>,
}

/// Registers that tests have in common.
#[derive(Clone, Debug)]
struct Group {
    registers: Vec<Reg>,
    tests: Vec<Expr>,
}

/// A set of registers.
type Set = u128;

/// Of routines with more registers or more code nothing is said.
const MOST_REGISTERS: usize = Set::BITS as usize - 1;
const MOST_CODE: usize = 1000;

/// Of more registers together nothing is said.
const MOST_TOGETHER: usize = 3;

/// How many values are tried for each.
const MOST_VALUES: usize = 5;

impl Essence {
    /// Analyses a valid routine.
    pub fn of(routine: &Routine, liveness: &Liveness) -> Essence {
        if routine.registers.len() > MOST_REGISTERS || routine.code.len() > MOST_CODE {
            return Essence { groups: vec![vec![]; routine.code.len()] };
        }
        let groups = (0..routine.code.len() as Pc).map(|pc| match routine.code[pc as usize] {
            // No thread stops here, unless for good.
            Instr::Assign { .. } | Instr::Jump { .. } | Instr::Branch { .. } | Instr::Alloc { .. } => vec![],
            _ => groups(routine, pc, liveness),
        });
        Essence { groups: groups.collect() }
    }

    /// Replaces what registers hold at an instruction by the simplest values that cannot be told from it.
    pub fn simplify(&self, pc: Pc, registers: &mut [i64]) {
        self.groups[pc as usize].iter().for_each(|group| group.simplify(registers));
    }
}

impl Group {
    fn simplify(&self, registers: &mut [i64]) {
        let results = |registers: &[i64]| -> Vec<Option<i64>> {
            self.tests.iter().map(|test| test.eval(&|Reg(reg)| registers[reg as usize]).ok()).collect()
        };
        let wanted = results(registers);
        let mut values = vec![0, 1];
        for &result in wanted.iter().flatten() {
            if !values.contains(&result) && values.len() < MOST_VALUES {
                values.push(result);
            }
        }
        let before: Vec<i64> = self.registers.iter().map(|reg| registers[reg.0 as usize]).collect();
        for number in 0..values.len().pow(self.registers.len() as u32) {
            let mut digits = number;
            for reg in &self.registers {
                registers[reg.0 as usize] = values[digits % values.len()];
                digits /= values.len();
            }
            if results(registers) == wanted {
                return;
            }
        }
        for (reg, value) in self.registers.iter().zip(before) {
            registers[reg.0 as usize] = value;
        }
    }
}

/// What may have become of the registers on the way from one instruction to another.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Flow {
    /// Those that are the same on some way.
    same: Set,
    /// Those that have been set on some way.
    set: Set,
}

/// The tests of what registers hold when a thread is at an instruction, and registers whose very values matter.
#[derive(Default)]
struct Tests {
    tests: Vec<Expr>,
    exact: Set,
}

fn groups(routine: &Routine, from: Pc, liveness: &Liveness) -> Vec<Group> {
    let dead = all(liveness.dead_before(from));
    let live = ((1 << routine.registers.len()) - 1) & !dead;
    if live == 0 {
        return vec![];
    }
    let mut found = Tests::default();
    for (pc, flow) in flows(routine, from, live).into_iter().enumerate() {
        let Some(flow) = flow else { continue };
        routine.code[pc].for_each_expr(&mut |expr| found.collect(expr, flow));
        if matches!(routine.code[pc], Instr::End) {
            found.exact |= all(&routine.observed) & flow.same;
        }
    }
    found.groups(live)
}

/// For every instruction that can be reached, what may have become of registers up to there.
fn flows(routine: &Routine, from: Pc, live: Set) -> Vec<Option<Flow>> {
    let mut flows: Vec<Option<Flow>> = vec![None; routine.code.len()];
    flows[from as usize] = Some(Flow { same: live, set: 0 });
    let mut work = vec![from];
    while let Some(pc) = work.pop() {
        let instr = &routine.code[pc as usize];
        let mut flow = flows[pc as usize].expect("it was reached");
        let set = instr.defined().map_or(0, one);
        flow = Flow { same: flow.same & !set, set: flow.set | set };
        for next in instr.successors(pc) {
            let known = &mut flows[next as usize];
            let merged = known.map_or(flow, |known| Flow { same: known.same | flow.same, set: known.set | flow.set });
            if *known != Some(merged) {
                *known = Some(merged);
                work.push(next);
            }
        }
    }
    flows
}

impl Tests {
    fn collect(&mut self, expr: &Expr, flow: Flow) {
        match (expr, registers(expr)) {
            (ExprOver::Leaf(reg), _) => self.exact |= one(*reg) & flow.same,
            (_, used) if used & flow.set == 0 => {
                if used != 0 && !self.tests.contains(expr) {
                    self.tests.push(expr.clone());
                }
            }
            (ExprOver::Unary(_, operand), _) => self.collect(operand, flow),
            (ExprOver::Binary(_, left, right), _) => {
                self.collect(left, flow);
                self.collect(right, flow);
            }
            (ExprOver::Const(_), _) => {}
        }
    }

    /// The registers that can be replaced, those together that tests have in common.
    fn groups(self, live: Set) -> Vec<Group> {
        let free = live & !self.exact;
        let mut sets: Vec<Set> = vec![];
        for test in &self.tests {
            let mut set = registers(test) & free;
            if set != 0 {
                sets.retain(|&other| {
                    let is_apart = other & set == 0;
                    set |= if is_apart { 0 } else { other };
                    is_apart
                });
                sets.push(set);
            }
        }
        sets.retain(|set| set.count_ones() as usize <= MOST_TOGETHER);
        let group = |set: Set| {
            let members = (0..MOST_REGISTERS as u16).map(Reg).filter(|&reg| set & one(reg) != 0);
            let tests = self.tests.iter().filter(|test| registers(test) & set != 0).cloned();
            Group { registers: members.collect(), tests: tests.collect() }
        };
        sets.into_iter().map(group).collect()
    }
}

fn one(Reg(reg): Reg) -> Set {
    1 << reg
}

fn all(registers: &[Reg]) -> Set {
    registers.iter().fold(0, |set, &reg| set | one(reg))
}

fn registers(expr: &Expr) -> Set {
    let mut set = 0;
    expr.for_each_leaf(&mut |reg| set |= one(reg));
    set
}
