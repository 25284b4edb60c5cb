//! Sketches as programs. The program's source text is the sketch in readable form, and every instruction's span is its line there.

mod access;

use crate::sketch::{Asked, LockName, Look, Parent, PlaceSketch, Sketch, Statement, Test, ThreadSketch, Value, Var};
use access::{var, var_text};
use std::fmt::Write;
use std::sync::Arc;
use unthread_checker::base::{Loc, Source, Span};
use unthread_checker::program::{
    Access, BinaryOp, Cell, Condition, Expr, ExprOver, FinalValue, Indexed, Instr, Lock, LockKind, LockMode, Loop,
    Ordering, Pc, Program, Quantifier, Reg, Routine, Start,
};

const REGISTERS: [&str; 10] = ["p", "r0", "r1", "r2", "seen", "i0", "i1", "t1", "t2", "t3"];
const SEEN: Reg = Reg(4);
const FIRST_COUNTER: u16 = 5;
const COUNTERS: usize = 2;
const FIRST_HANDLE: u16 = 7;
const HANDLES: usize = 3;
const ARRAY: i64 = 2;

impl Sketch {
    /// The program that the sketch stands for. It is valid, whatever the sketch.
    pub fn program(&self) -> Program {
        let mut text = String::new();
        let mut cells: Vec<Cell> = self.cells.iter().map(|c| cell(c.name, c.initial, c.access)).collect();
        for cell in &cells {
            let kind = if cell.access == Access::Plain { "plain" } else { "atomic" };
            writeln!(text, "{kind} {} = {}", cell.name, cell.initial).expect("strings take everything");
        }
        cells.extend((0..ARRAY).map(|index| cell(&format!("a[{index}]"), 0, Access::Atomic)));
        let mut routines = Vec::new();
        for index in 0..self.threads.len() {
            let (routine, with_text) = self.thread(index, text);
            routines.push(routine);
            text = with_text;
        }
        let mut finally = None;
        if !self.finally.is_empty() {
            let mut lowering = Lowering::new(self, text);
            lowering.line("finally {");
            lowering.body(&self.finally);
            finally = Some(routines.len());
            let (routine, with_text) = lowering.end("finally", 0, vec![]);
            routines.push(routine);
            text = with_text;
        }
        let start = |(routine, thread): (usize, &ThreadSketch)| Start {
            name: thread.name.clone(),
            routine,
            arguments: Vec::new(),
        };
        Program {
            name: "generated".into(),
            cells,
            locks: [("m", LockKind::Mutex), ("n", LockKind::Mutex), ("rw", LockKind::RwLock)]
                .map(|(name, kind)| Lock { name: name.into(), kind })
                .into(),
            condvars: vec!["c".into()],
            routines,
            initial: self
                .threads
                .iter()
                .enumerate()
                .filter(|(index, _)| self.parent(*index).is_none())
                .map(start)
                .collect(),
            finally,
            conditions: self.conditions(&mut text),
            automata: None,
            source: Arc::new(Source::new("generated", text)),
        }
    }

    /// The thread that forks a thread, with the parent's number in range.
    fn parent(&self, index: usize) -> Option<Parent> {
        let parent = self.threads[index].parent.filter(|_| (1..=HANDLES).contains(&index))?;
        Some(Parent { thread: parent.thread % index, ..parent })
    }

    fn conditions(&self, text: &mut String) -> Vec<Condition> {
        let Some(asked) = &self.condition else { return vec![] };
        let start = text.len();
        let quantifier = match asked.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::Forbidden => "forbidden",
            Quantifier::Always => "always",
        };
        let parts = asked.all.iter().map(|&(asked, value)| match asked {
            Asked::Cell(cell) => {
                let cell = cell % self.cells.len();
                (self.cells[cell].name.to_string(), FinalValue::Memory(Loc::global(cell)), value)
            }
            Asked::Register(thread, number) => {
                let (at, register) = (self.initial_thread(thread), var(Var::R(number)));
                let name = format!("{}.{}", self.threads[at].name, var_text(Var::R(number)));
                let thread = (0..at).filter(|&before| self.parent(before).is_none()).count();
                (name, FinalValue::Register { thread, register }, value)
            }
        });
        let parts: Vec<(String, FinalValue, i64)> = parts.collect();
        let shown: Vec<String> = parts.iter().map(|(name, _, value)| format!("{name} == {value}")).collect();
        writeln!(text, "{quantifier} {}", shown.join(" && ")).expect("strings take everything");
        let tests = parts.into_iter().map(|(_, leaf, value)| ExprOver::Leaf(leaf).binary(BinaryOp::Eq, value.into()));
        let proposition = tests.reduce(|all, test| all.binary(BinaryOp::And, test)).unwrap_or(1.into());
        vec![Condition { quantifier: asked.quantifier, proposition, span: Span::new(start, text.len() - 1) }]
    }

    /// One of the threads that run from the start.
    fn initial_thread(&self, number: usize) -> usize {
        let initial: Vec<usize> = (0..self.threads.len()).filter(|&index| self.parent(index).is_none()).collect();
        initial[number % initial.len()]
    }

    /// The registers of a thread that final states show.
    fn observed(&self, index: usize) -> Vec<Reg> {
        let asked = self.condition.iter().flat_map(|condition| &condition.all);
        let is_asked = |number: &u8| {
            let is = |asked: &Asked| match *asked {
                Asked::Register(thread, of) => self.initial_thread(thread) == index && of % 3 == *number,
                Asked::Cell(_) => false,
            };
            asked.clone().any(|(asked, _)| is(asked))
        };
        (0..3u8).filter(|number| self.observed || is_asked(number)).map(|number| var(Var::R(number))).collect()
    }

    fn thread(&self, index: usize, text: String) -> (Routine, String) {
        let thread = &self.threads[index];
        let children = |at: usize| {
            (0..self.threads.len()).filter(move |&child| {
                let place = |parent: Parent| (parent.thread, parent.at.min(thread.body.len()));
                self.parent(child).map(place) == Some((index, at))
            })
        };
        let mut lowering = Lowering::new(self, text);
        lowering.line(&format!("{} {{", thread.name));
        for at in 0..=thread.body.len() {
            for child in children(at) {
                let handle = Reg(FIRST_HANDLE + child as u16 - 1);
                lowering.emit(
                    &format!("t{child} = fork {}(p)", self.threads[child].name),
                    Instr::Fork { dst: Some(handle), routine: child, arguments: vec![var(Var::P).into()] },
                );
            }
            if let Some(statement) = thread.body.get(at) {
                lowering.statement(statement);
            }
        }
        for child in (0..=thread.body.len()).flat_map(children) {
            if self.parent(child).is_some_and(|parent| parent.join) {
                let handle = Reg(FIRST_HANDLE + child as u16 - 1);
                lowering.emit(&format!("join t{child}"), Instr::Join { thread: handle.into() });
            }
        }
        lowering.end(&thread.name, u16::from(self.parent(index).is_some()), self.observed(index))
    }
}

/// The code of one routine in the making.
struct Lowering {
    /// Names of the variables.
    cells: Vec<&'static str>,
    text: String,
    depth: usize,
    /// How many `repeat` the statement is in.
    nesting: usize,
    code: Vec<Instr>,
    spans: Vec<Span>,
    loops: Vec<Loop>,
}

impl Lowering {
    fn new(sketch: &Sketch, text: String) -> Lowering {
        let cells = sketch.cells.iter().map(|cell| cell.name).collect();
        Lowering { cells, text, depth: 0, nesting: 0, code: vec![], spans: vec![], loops: vec![] }
    }

    fn end(mut self, name: &str, parameters: u16, observed: Vec<Reg>) -> (Routine, String) {
        self.emit("}", Instr::End);
        // As front ends do: of loops that begin in the same place, the outer comes first.
        self.loops.sort_by_key(|l| (l.head, std::cmp::Reverse(l.end)));
        let routine = Routine {
            name: name.into(),
            parameters,
            registers: REGISTERS.map(String::from).into(),
            code: self.code,
            spans: self.spans,
            loops: self.loops,
            observed,
        };
        (routine, self.text)
    }

    /// Writes a line of text and gives its place.
    fn line(&mut self, line: &str) -> Span {
        let depth = if line.starts_with('}') { self.depth - 1 } else { self.depth };
        self.text.extend(std::iter::repeat_n("    ", depth));
        let start = self.text.len();
        self.text.push_str(line);
        let span = Span::new(start, self.text.len());
        self.text.push('\n');
        self.depth = if line.ends_with('{') { depth + 1 } else { depth };
        span
    }

    fn emit(&mut self, line: &str, instr: Instr) {
        let span = self.line(line);
        self.push(span, instr);
    }

    fn push(&mut self, span: Span, instr: Instr) {
        self.code.push(instr);
        self.spans.push(span);
    }

    fn here(&self) -> Pc {
        self.code.len() as Pc
    }

    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    /// Goes on behind `body` unless the condition holds.
    fn when(&mut self, span: Span, condition: Expr, body: impl FnOnce(&mut Lowering)) {
        let branch = self.code.len();
        self.push(span, Instr::Jump { target: 0 });
        body(self);
        self.code[branch] = Instr::Branch { condition, then: branch as Pc + 1, otherwise: self.here() };
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Locked { lock, mode, body } => {
                self.emit(
                    &format!("{} {{", locking("lock", *lock, *mode)),
                    Instr::Lock { lock: at(*lock), mode: *mode },
                );
                self.body(body);
                self.emit("}", Instr::Unlock { lock: at(*lock), mode: *mode });
            }
            Statement::TryLocked { lock, mode, body } => {
                let span = self.line(&format!("if {} {{", locking("trylock", *lock, *mode)));
                self.push(span, Instr::TryLock { dst: SEEN, lock: at(*lock), mode: *mode });
                self.when(span, SEEN.into(), |this| {
                    this.body(body);
                    this.emit("}", Instr::Unlock { lock: at(*lock), mode: *mode });
                });
            }
            Statement::LockedWait { test, body } => self.locked_wait(test.as_ref(), body),
            Statement::If { test, then, otherwise } => self.branch(*test, then, otherwise),
            Statement::Repeat { times, body } => self.repeat(*times, body),
            Statement::Spin { place, value, until_equal, yields } => {
                self.spin(*place, *value, *until_equal, *yields);
            }
            Statement::Retry { body, place, look, value, until_equal } => {
                self.retry(body, *place, *look, (*value, *until_equal));
            }
            Statement::SpinLocked { place, looks, take, body, gives_back } => {
                let free = Statement::Spin { place: *place, value: 0, until_equal: true, yields: false };
                self.retry(if *looks { std::slice::from_ref(&free) } else { &[] }, *place, *take, (0, true));
                self.body(body);
                let (place, value) = (*place, Value::Const(0));
                if *gives_back {
                    self.statement(&Statement::Store { place, value, ordering: Ordering::Release });
                }
            }
            simple => self.simple(simple),
        }
    }

    fn locked_wait(&mut self, test: Option<&(PlaceSketch, i64)>, body: &[Statement]) {
        let (condvar, lock) = (Indexed { base: 0, length: 1, index: 0.into() }, at(LockName::M));
        self.emit("lock m {", Instr::Lock { lock: lock.clone(), mode: LockMode::Exclusive });
        let wait = Instr::Wait { condvar, lock: lock.clone() };
        match test {
            None => self.emit("wait c, m", wait),
            Some((place, value)) => {
                let span = self.line(&format!("seen = {}", self.place_text(*place)));
                let place = self.place(*place);
                self.push(span, Instr::Load { dst: SEEN, place, ordering: Ordering::Relaxed });
                let condition = Expr::from(SEEN).binary(BinaryOp::Eq, (*value).into());
                let span = self.line(&format!("if seen == {value}: wait c, m"));
                self.when(span, condition, |this| this.push(span, wait));
            }
        }
        self.body(body);
        self.emit("}", Instr::Unlock { lock, mode: LockMode::Exclusive });
    }

    fn branch(&mut self, test: Test, then: &[Statement], otherwise: &[Statement]) {
        let span = self.line(&format!("if {} {{", test_text(test)));
        let mut jump = 0;
        self.when(span, condition(test), |this| {
            this.body(then);
            jump = this.code.len();
            this.push(span, Instr::Jump { target: 0 });
        });
        if !otherwise.is_empty() {
            self.line("} else {");
            self.body(otherwise);
        }
        self.line("}");
        self.code[jump] = Instr::Jump { target: self.here() };
    }

    fn repeat(&mut self, times: u8, body: &[Statement]) {
        if self.nesting == COUNTERS {
            return self.body(body);
        }
        let counter = Reg(FIRST_COUNTER + self.nesting as u16);
        let span = self.line(&format!("repeat {times} {{"));
        self.push(span, Instr::Assign { dst: counter, value: 0.into() });
        let head = self.here();
        self.nesting += 1;
        let more = Expr::from(counter).binary(BinaryOp::Lt, i64::from(times).into());
        self.when(span, more, |this| {
            this.body(body);
            let value = Expr::from(counter).binary(BinaryOp::Add, 1.into());
            this.push(span, Instr::Assign { dst: counter, value });
            this.push(span, Instr::Jump { target: head });
        });
        self.nesting -= 1;
        self.loops.push(Loop { head, end: self.here(), span });
        self.line("}");
    }

    fn spin(&mut self, place: PlaceSketch, value: i64, until_equal: bool, yields: bool) {
        let op = if until_equal { BinaryOp::Ne } else { BinaryOp::Eq };
        let sign = if until_equal { "!=" } else { "==" };
        let body = if yields { "{ yield }" } else { "{}" };
        let span = self.line(&format!("while {} {sign} {value} {body}", self.place_text(place)));
        let head = self.here();
        let place = self.place(place);
        self.push(span, Instr::Load { dst: SEEN, place, ordering: Ordering::Acquire });
        self.when(span, Expr::from(SEEN).binary(op, value.into()), |this| {
            if yields {
                this.push(span, Instr::Yield);
            }
            this.push(span, Instr::Jump { target: head });
        });
        self.loops.push(Loop { head, end: self.here(), span });
    }

    fn retry(&mut self, body: &[Statement], place: PlaceSketch, look: Look, (value, until_equal): (i64, bool)) {
        let (head, op) = (self.here(), if until_equal { BinaryOp::Ne } else { BinaryOp::Eq });
        self.line("loop {");
        self.body(body);
        let (text, instr) = self.look(place, look);
        let span = self.line(&format!("}} until {text} {} {value}", if until_equal { "==" } else { "!=" }));
        self.push(span, instr);
        self.when(span, Expr::from(SEEN).binary(op, value.into()), |this| {
            this.push(span, Instr::Jump { target: head });
        });
        self.loops.push(Loop { head, end: self.here(), span });
    }

    fn simple(&mut self, statement: &Statement) {
        let (line, instr) = match statement {
            Statement::Load { .. } | Statement::Store { .. } | Statement::Rmw { .. } | Statement::Cas { .. } => {
                self.access(statement)
            }
            Statement::Fence(ordering) => (format!("fence {ordering:?}"), Instr::Fence { ordering: *ordering }),
            Statement::Yield => ("yield".into(), Instr::Yield),
            Statement::Assign { dst, value } => {
                let line = format!("{} = {}", var_text(*dst), self.value_text(*value));
                (line, Instr::Assign { dst: var(*dst), value: self.value(*value) })
            }
            Statement::Choose { dst, high } => {
                let line = format!("{} = choose 0..{high}", var_text(*dst));
                (line, Instr::Choose { dst: var(*dst), low: 0.into(), high: (*high).into() })
            }
            Statement::Assert(test) => {
                let text = test_text(*test);
                (
                    format!("assert {text}"),
                    Instr::Assert { condition: condition(*test), message: format!("{text} does not hold") },
                )
            }
            Statement::Assume(test) => {
                (format!("assume {}", test_text(*test)), Instr::Assume { condition: condition(*test) })
            }
            Statement::Panic => ("panic".into(), Instr::Panic { message: "panic".into() }),
            Statement::Lock(lock, mode) => {
                (locking("lock", *lock, *mode), Instr::Lock { lock: at(*lock), mode: *mode })
            }
            Statement::Unlock(lock, mode) => {
                (locking("unlock", *lock, *mode), Instr::Unlock { lock: at(*lock), mode: *mode })
            }
            Statement::TryLock { dst, lock, mode } => (
                format!("{} = {}", var_text(*dst), locking("trylock", *lock, *mode)),
                Instr::TryLock { dst: var(*dst), lock: at(*lock), mode: *mode },
            ),
            Statement::Notify { all } => {
                let condvar = Indexed { base: 0, length: 1, index: 0.into() };
                (format!("notify{} c", if *all { "_all" } else { "" }), Instr::Notify { condvar, all: *all })
            }
            Statement::Alloc => ("p = new [2]".into(), Instr::Alloc { dst: var(Var::P), cells: 2 }),
            Statement::Free => ("free p".into(), Instr::Free { pointer: var(Var::P).into() }),
            Statement::Join(value) => {
                (format!("join {}", self.value_text(*value)), Instr::Join { thread: self.value(*value) })
            }
            Statement::Locked { .. }
            | Statement::TryLocked { .. }
            | Statement::LockedWait { .. }
            | Statement::If { .. }
            | Statement::Repeat { .. }
            | Statement::Spin { .. }
            | Statement::Retry { .. }
            | Statement::SpinLocked { .. } => unreachable!("these have statements inside or several instructions"),
        };
        self.emit(&line, instr);
    }
}

fn cell(name: &str, initial: i64, access: Access) -> Cell {
    Cell { name: name.into(), initial, access }
}

fn condition(test: Test) -> Expr {
    let op = if test.equal { BinaryOp::Eq } else { BinaryOp::Ne };
    Expr::from(var(test.var)).binary(op, test.value.into())
}

fn test_text(test: Test) -> String {
    format!("{} {} {}", var_text(test.var), if test.equal { "==" } else { "!=" }, test.value)
}

fn at(lock: LockName) -> Indexed {
    Indexed { base: lock as u32, length: 1, index: 0.into() }
}

fn locking(verb: &str, lock: LockName, mode: LockMode) -> String {
    let name = ["m", "n", "rw"][lock as usize];
    match mode {
        LockMode::Exclusive => format!("{verb} {name}"),
        LockMode::Shared => format!("{verb} {name} shared"),
    }
}
