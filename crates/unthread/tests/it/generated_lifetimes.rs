//! Generated programs whose threads free what others use, as Rust code and as programs of the checker's own language: the same ones are wrong.
//!
//! In the language, freeing waits until the thread's stores have reached memory, and a drop does not. That makes no difference here: threads free last, and what another thread does
//! before it uses something freed can be done earlier.

use crate::lifetimes::is_refused;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicU32;
use unthread::model::{Builder, Engine, MemoryModel, Verdict};
use unthread::sync::Arc;
use unthread::sync::atomic::AtomicI64;
use unthread::sync::atomic::Ordering::*;
use unthread::thread;
use unthread_checker::base::Source;
use unthread_checker::engines;
use unthread_checker::frontend::ut;
use unthread_checker::search::{Options, Unwatched};
use unthread_generate::{cases, check_all};

/// Objects on the heap, and flags that are always there.
const OBJECTS: usize = 2;
const FLAGS: usize = 2;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Command {
    Load(usize),
    Store(usize, i64),
    Add(usize),
    Exchange(usize),
    /// Sets a flag: relaxed, or sequentially consistent.
    Set(usize, bool),
}

/// A command, done only if a flag is set.
#[derive(Clone, Copy, Debug)]
struct Guarded<C> {
    flag: Option<usize>,
    command: C,
}

/// What a thread does, which objects it frees then, and whether `main` waits for it before it frees.
#[derive(Clone, Debug)]
struct Script {
    commands: Vec<Guarded<Command>>,
    frees: Vec<Guarded<usize>>,
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Script>,
    /// The threads that `main` waits for, and what it frees then.
    joined: Vec<bool>,
    frees: Vec<usize>,
}

fn programs() -> impl Strategy<Value = Program> {
    let guarded = |flag: Option<usize>| flag.filter(|&flag| flag < FLAGS);
    let command = prop_oneof![
        3 => (0..OBJECTS).prop_map(Command::Load),
        2 => (0..OBJECTS, 1..3i64).prop_map(|(object, value)| Command::Store(object, value)),
        1 => (0..OBJECTS).prop_map(Command::Add),
        1 => (0..OBJECTS).prop_map(Command::Exchange),
        3 => (0..FLAGS, any::<bool>()).prop_map(|(flag, strong)| Command::Set(flag, strong)),
    ];
    let commands = prop::collection::vec((prop::option::weighted(0.3, 0..FLAGS), command), 1..4);
    let frees = prop::collection::vec((prop::option::weighted(0.7, 0..FLAGS), 0..OBJECTS), 0..2);
    let script = (commands, frees).prop_map(move |(commands, frees)| Script {
        commands: commands.into_iter().map(|(flag, command)| Guarded { flag: guarded(flag), command }).collect(),
        frees: frees.into_iter().map(|(flag, command)| Guarded { flag: guarded(flag), command }).collect(),
    });
    let threads = prop::collection::vec((script, prop::bool::weighted(0.8)), 2..4);
    (threads, prop::collection::vec(0..OBJECTS, 0..2)).prop_map(|(threads, frees)| {
        let (threads, joined) = threads.into_iter().unzip();
        Program { threads, joined, frees }
    })
}

impl Program {
    /// In the checker's own language.
    fn text(&self) -> String {
        let mut text = "struct Node { value }\nshared f0, f1;\n".to_string();
        for (index, script) in self.threads.iter().enumerate() {
            text += &format!("thread t{index}(p0, p1) {{\n");
            for Guarded { flag, command } in &script.commands {
                let done = match command {
                    Command::Load(object) => format!("let r = p{object}.value;"),
                    Command::Store(object, value) => format!("p{object}.value = {value};"),
                    Command::Add(object) => format!("p{object}.value.fetch_add(1);"),
                    Command::Exchange(object) => format!("p{object}.value.cas(0, 5);"),
                    Command::Set(flag, false) => format!("f{flag} = 1;"),
                    Command::Set(flag, true) => format!("f{flag}.store(1, seqcst);"),
                };
                text += &guarded_text(*flag, &done);
            }
            for Guarded { flag, command } in &script.frees {
                text += &guarded_text(*flag, &format!("free(p{command});"));
            }
            text += "}\n";
        }
        text += "main {\n    let p0 = new Node;\n    let p1 = new Node;\n";
        let indices = 0..self.threads.len();
        text +=
            &indices.clone().map(|index| format!("    let h{index} = fork t{index}(p0, p1);\n")).collect::<String>();
        let joined = indices.filter(|&index| self.joined[index]);
        text += &joined.map(|index| format!("    join h{index};\n")).collect::<String>();
        text += &self.frees.iter().map(|object| format!("    free(p{object});\n")).collect::<String>();
        text + "}\n"
    }

    /// As Rust code.
    fn run(&self) {
        let objects = [(); OBJECTS].map(|()| Object(Box::into_raw(Box::new(AtomicI64::new(0)))));
        let flags = Arc::new([(); FLAGS].map(|()| AtomicI64::new(0)));
        let spawn = |script: Script| {
            let flags = flags.clone();
            thread::spawn(move || script.run(&objects, &flags))
        };
        let threads: Vec<_> = self.threads.iter().cloned().map(spawn).collect();
        for (thread, joined) in threads.into_iter().zip(&self.joined) {
            if *joined {
                thread.join().unwrap();
            }
        }
        self.frees.iter().for_each(|&object| objects[object].free());
    }
}

fn guarded_text(flag: Option<usize>, done: &str) -> String {
    match flag {
        Some(flag) => format!("    if f{flag} == 1 {{ {done} }}\n"),
        None => format!("    {done}\n"),
    }
}

#[derive(Clone, Copy)]
struct Object(*mut AtomicI64);

unsafe impl Send for Object {}
unsafe impl Sync for Object {}

impl Object {
    fn get<'a>(self) -> &'a AtomicI64 {
        unsafe { &*self.0 }
    }

    fn free(self) {
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Script {
    fn run(&self, objects: &[Object; OBJECTS], flags: &[AtomicI64; FLAGS]) {
        let is_set = |flag: Option<usize>| flag.is_none_or(|flag| flags[flag].load(Relaxed) == 1);
        for Guarded { flag, command } in &self.commands {
            if !is_set(*flag) {
                continue;
            }
            match *command {
                Command::Load(object) => _ = objects[object].get().load(Relaxed),
                Command::Store(object, value) => objects[object].get().store(value, Relaxed),
                Command::Add(object) => _ = objects[object].get().fetch_add(1, SeqCst),
                Command::Exchange(object) => _ = objects[object].get().compare_exchange(0, 5, SeqCst, SeqCst),
                Command::Set(flag, strong) => flags[flag].store(1, if strong { SeqCst } else { Relaxed }),
            }
        }
        for Guarded { flag, command } in &self.frees {
            if is_set(*flag) {
                objects[*command].free();
            }
        }
    }
}

fn is_wrong_as_interpreted(program: &Program, memory: MemoryModel) -> bool {
    let source = StdArc::new(Source::new("generated.ut", program.text()));
    let interpreted = ut::parse(source, &BTreeMap::new()).unwrap_or_else(|why| panic!("{why:?}: {}", program.text()));
    let report = engines::check(&interpreted, &Options::new(memory), &Unwatched);
    assert!(report.violations.iter().all(|violation| violation.kind.name() == "use-after-free"), "{report:?}");
    report.verdict() == Verdict::Violation
}

fn compare(engine: Engine, otherwise: u32) {
    let (wrong, right) = (AtomicU32::new(0), AtomicU32::new(0));
    let cases = cases(otherwise);
    check_all(programs(), cases, |program| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| {
            let expected = is_wrong_as_interpreted(program, memory);
            let code = program.clone();
            let report = Builder::new().memory(memory).engine(engine).report(move || code.run());
            let kinds: Vec<_> = report.violations.iter().map(|violation| violation.kind.name()).collect();
            let as_expected = match expected {
                true => kinds == ["use-after-free"] || is_refused(&report),
                false => report.verdict() == Verdict::Verified || is_refused(&report),
            };
            if expected { &wrong } else { &right }.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            as_expected.then_some(()).ok_or_else(|| format!("{memory}: {expected}, {report:?}\n{}", program.text()))
        })
    });
    let (wrong, right) = (wrong.into_inner(), right.into_inner());
    println!("{wrong} are wrong, {right} are right");
    assert!(wrong >= cases / 4 && right >= cases / 4, "{wrong} are wrong, {right} are right");
}

#[test]
fn generated_programs_free_too_early_as_closures_iff_they_do_as_programs() {
    compare(Engine::Dpor, 300);
}

#[test]
fn generated_programs_free_too_early_with_mcr_and_cumulative_too() {
    compare(Engine::Mcr, 100);
    compare(Engine::Cumulative, 100);
}
