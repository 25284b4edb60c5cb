//! Trees to programs: names are looked up, functions expanded at their calls, expressions cut into visible operations.
//!
//! A file per concern, all of them methods of [`Lowerer`]. Mistakes are reported and something harmless is lowered
//! instead, so that all of them are found.

mod builder;
mod builtins;
mod calls;
mod conditions;
mod expressions;
mod operations;
mod places;
mod scopes;
mod statements;
mod tidy;

use super::ast::{Block, File, Ident, ThreadItem};
use super::globals::Globals;
use super::{MAX_CODE, MAX_DIAGNOSTICS, MAX_NESTING, MAX_REGISTERS, MAX_THREADS, MAX_WORK};
use crate::base::{Diagnostic, Source, Span};
use crate::program::{Instr, Program, Reg, Routine, Start};
use builder::Builder;
use calls::FunctionFacts;
use scopes::{Frame, Leave};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Lowers a file. The program means something only if no diagnostic was added.
pub(super) fn lower(
    file: &File,
    globals: &Globals<'_>,
    source: Arc<Source>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Program {
    let mut lowerer = Lowerer {
        file,
        globals,
        text: &source.text,
        facts: file.functions.iter().map(FunctionFacts::of).collect(),
        diagnostics,
        builder: Builder::default(),
        frames: Vec::new(),
        expanded: BTreeSet::new(),
        forked: BTreeSet::new(),
        code: 0,
        work: 0,
        depth: 0,
        gave_up: false,
    };
    let mut routines = lowerer.routines();
    lowerer.unused_functions();
    let initial = lowerer.initial_threads();
    let conditions = lowerer.conditions(&mut routines, &initial);
    let finally = file.finallys.first().map(|_| routines.len() - 1);
    Program {
        name: program_name(&source.name),
        cells: globals.cells.clone(),
        locks: globals.locks.clone(),
        condvars: globals.condvars.clone(),
        routines: routines.into_iter().map(|routine| routine.routine).collect(),
        initial,
        finally,
        conditions,
        automata: None,
        source,
    }
}

/// `corpus/dekker.ut` is called `dekker`.
fn program_name(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".ut").unwrap_or(file).to_string()
}

struct Lowerer<'a, 'd> {
    file: &'a File,
    globals: &'a Globals<'a>,
    text: &'a str,
    facts: Vec<FunctionFacts<'a>>,
    diagnostics: &'d mut Vec<Diagnostic>,
    /// The routine being built.
    builder: Builder,
    /// The thread's own frame, then one for each function being expanded.
    frames: Vec<Frame<'a>>,
    /// Functions whose bodies have been looked at.
    expanded: BTreeSet<usize>,
    /// Threads that a `fork` mentions.
    forked: BTreeSet<usize>,
    code: usize,
    work: usize,
    depth: u32,
    /// A limit was met: nothing more is lowered.
    gave_up: bool,
}

/// A routine, and the registers of the thread's own variables for conditions.
struct Lowered {
    routine: Routine,
    locals: BTreeMap<String, Reg>,
}

impl<'a> Lowerer<'a, '_> {
    /// Threads in the order of the file, then `main`, then `finally`.
    fn routines(&mut self) -> Vec<Lowered> {
        let file = self.file;
        let mut routines: Vec<Lowered> = file
            .threads
            .iter()
            .map(|thread| self.routine(&thread.name.name, &thread.parameters, &thread.body))
            .collect();
        for (name, blocks) in [("main", &file.mains), ("finally", &file.finallys)] {
            for again in blocks.iter().skip(1) {
                self.error(
                    Diagnostic::new(again.span, format!("there is already a `{name}`"))
                        .label("a second one")
                        .hint("put everything into one block")
                        .related(blocks[0].span, "the first one"),
                );
            }
            routines.extend(blocks.first().map(|body| self.routine(name, &[], body)));
        }
        routines
    }

    fn routine(&mut self, name: &str, parameters: &'a [Ident], body: &'a Block) -> Lowered {
        self.builder = Builder::default();
        let end = self.builder.label();
        self.frames.push(Frame::new(None, Leave::End(end)));
        for parameter in parameters {
            self.declare(parameter, true);
        }
        self.block(body);
        let locals = self.frames.pop().map(|frame| frame.last_declared).unwrap_or_default();
        self.builder.bind(end);
        self.builder.emit(Instr::End, Span::new(body.span.end.saturating_sub(1) as usize, body.span.end as usize));
        if self.builder.is_full() {
            self.give_up(body.span, "too many variables in one thread", format!("more than {MAX_REGISTERS}"));
        }
        let routine = std::mem::take(&mut self.builder).finish(name, parameters.len());
        let locals = locals.into_iter().map(|(name, register)| (name.to_string(), register)).collect();
        Lowered { routine, locals }
    }

    /// Functions that nobody calls are lowered for their mistakes alone.
    fn unused_functions(&mut self) {
        let file = self.file;
        for (index, function) in file.functions.iter().enumerate() {
            if !self.expanded.contains(&index) {
                self.builder = Builder::default();
                let end = self.builder.label();
                let mut frame = Frame::new(Some(index), Leave::Function { result: None, end });
                frame.returns_value = self.facts[index].returns_value;
                self.frames.push(frame);
                self.expanded.insert(index);
                function.parameters.iter().for_each(|parameter| {
                    self.declare(parameter, true);
                });
                self.block(&function.body);
                self.frames.pop();
            }
        }
    }

    fn initial_threads(&mut self) -> Vec<Start> {
        let file = self.file;
        if let Some(main) = file.mains.first() {
            for count in file.threads.iter().filter_map(|thread| thread.count.as_ref()) {
                self.error(
                    Diagnostic::new(count.span, "a number of threads has no meaning when there is a `main`")
                        .label("only `main` starts by itself")
                        .hint("remove it, and start the threads with `fork` in `main`")
                        .related(Span::new(main.span.start as usize, main.span.start as usize + 1), "`main`"),
                );
            }
            return vec![Start { name: "main".to_string(), routine: file.threads.len(), arguments: Vec::new() }];
        }
        if file.threads.is_empty() {
            self.error(
                Diagnostic::new(Span::default(), "there is no thread")
                    .label("nothing would run")
                    .hint("write `thread t1 { … }` or `main { … }`"),
            );
        }
        let mut starts = Vec::new();
        for (routine, thread) in file.threads.iter().enumerate() {
            self.starts_of(routine, thread, &mut starts);
        }
        starts
    }

    fn starts_of(&mut self, routine: usize, thread: &ThreadItem, starts: &mut Vec<Start>) {
        let name = &thread.name.name;
        let Some(count) = &thread.count else {
            if thread.parameters.is_empty() {
                starts.push(Start { name: name.clone(), routine, arguments: Vec::new() });
            } else if !self.forked.contains(&routine) {
                self.error(
                    Diagnostic::new(thread.name.span, format!("nothing starts `{name}`"))
                        .label("has parameters, but no number of threads")
                        .hint(format!(
                            "write `thread {name}({}) * 2 {{ … }}`, or start it with `fork {name}(…)`",
                            thread.parameters[0].name
                        )),
                );
            }
            return;
        };
        let Some(number) = self.globals.constant(count, self.diagnostics) else { return };
        if thread.parameters.len() > 1 {
            self.error(
                Diagnostic::new(thread.parameters[1].span, format!("`{name}` can have one parameter only"))
                    .label("what would be its value?")
                    .hint("the parameter of a counted thread is its number, from 0"),
            );
        } else if number < 0 || number > (MAX_THREADS - starts.len().min(MAX_THREADS)) as i64 {
            self.error(
                Diagnostic::new(count.span, format!("{number} is no number of threads"))
                    .label(format!("this is {number}"))
                    .hint(format!("a program starts with at most {MAX_THREADS} threads")),
            );
        } else {
            starts.extend((0..number).map(|index| Start {
                name: format!("{name}[{index}]"),
                routine,
                arguments: vec![index; thread.parameters.len()],
            }));
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        // Expansion can repeat a mistake very often.
        let repeated = || self.diagnostics.contains(&diagnostic);
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !repeated() {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports a limit and stops lowering: what follows would only meet it again.
    fn give_up(&mut self, span: Span, message: &str, label: String) {
        if !std::mem::replace(&mut self.gave_up, true) {
            self.error(Diagnostic::new(span, message).label(label).hint("make the program smaller"));
        }
    }

    fn emit(&mut self, instr: Instr, span: Span) {
        if self.gave_up {
            return;
        }
        self.code += 1;
        if self.code > MAX_CODE {
            let message = "the program is too large once its functions are expanded";
            return self.give_up(span, message, format!("more than {MAX_CODE} instructions"));
        }
        self.builder.emit(instr, span);
    }

    /// Runs `lower` one level deeper, or gives up and returns `otherwise`.
    fn deeper<T>(&mut self, span: Span, otherwise: T, lower: impl FnOnce(&mut Self) -> T) -> T {
        self.work += 1;
        if self.work > MAX_WORK {
            let message = "the program is too large once its functions are expanded";
            self.give_up(span, message, "too much to expand".to_string());
        }
        if self.depth >= 2 * MAX_NESTING {
            let label = format!("more than {} levels", 2 * MAX_NESTING);
            self.give_up(span, "this is nested too deeply once functions are expanded", label);
        }
        if self.gave_up {
            return otherwise;
        }
        self.depth += 1;
        let result = lower(self);
        self.depth -= 1;
        result
    }
}
