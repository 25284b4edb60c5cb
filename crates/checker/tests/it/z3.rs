//! The solver's answers against those of z3, on the questions that the engines `mcr` and `cumulative` ask about generated programs.
//!
//! Questions go to z3 as SMT-LIB scripts, which are written from the definition of a problem and know nothing of how we solve it.

use crate::tell_skipped;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Engine, Limits, Options, Progress, StopReason, Watch};
use unthread_checker::solver::{Goal, Query};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

/// Executions per program and memory model: many programs are better than many questions about one.
const EXECUTIONS: u64 = 4;

/// A question as a script, what it asks, and our answer.
struct Asked {
    script: String,
    goal: Goal,
    satisfiable: bool,
}

/// Writes every question down.
#[derive(Default)]
struct Scribe(Mutex<Vec<Asked>>);

impl Watch for Scribe {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        None
    }

    fn query(&self, query: &Query<'_>) {
        let satisfiable = query.satisfiable.expect("the solver does not give up");
        self.0.lock().unwrap().push(Asked { script: query.smtlib(), goal: query.goal, satisfiable });
    }

    fn reads_queries(&self) -> bool {
        true
    }
}

fn questions(sketch: &Sketch, engine: Engine, memory: MemoryModel) -> Vec<Asked> {
    let scribe = Scribe::default();
    let limits = Limits { executions: EXECUTIONS, ..Options::new(memory).limits };
    let options = Options { engine, all_violations: true, limits, ..Options::new(memory) };
    check(&sketch.program(), &options, &scribe);
    scribe.0.into_inner().unwrap()
}

/// Asks z3, all at once. An error says where it disagrees.
fn z3_agrees(asked: &[Asked]) -> Result<(), String> {
    let mut z3 =
        Command::new("z3").arg("-in").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("z3 can be started");
    let scripts: Vec<&str> = asked.iter().map(|asked| asked.script.as_str()).collect();
    let mut input = z3.stdin.take().expect("it is piped");
    input.write_all(scripts.join("(reset)\n").as_bytes()).expect("z3 reads everything");
    drop(input);
    let output = z3.wait_with_output().expect("z3 ends");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let answers: Vec<&str> = output.lines().collect();
    if answers.len() != asked.len() {
        return Err(format!("{} answers to {} questions: {output}", answers.len(), asked.len()));
    }
    for (asked, answer) in asked.iter().zip(answers) {
        let ours = if asked.satisfiable { "sat" } else { "unsat" };
        if answer != ours {
            return Err(format!("z3 says {answer}, we say {ours}, to\n{}", asked.script));
        }
    }
    Ok(())
}

fn has_z3() -> bool {
    let there = Command::new("z3").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !there {
        tell_skipped("there is no z3 on this machine");
    }
    there
}

#[test]
fn z3_gives_the_same_answers_as_mcr() {
    z3_gives_the_same_answers_as(Engine::Mcr);
}

#[test]
fn z3_gives_the_same_answers_as_cumulative() {
    z3_gives_the_same_answers_as(Engine::Cumulative);
}

fn z3_gives_the_same_answers_as(engine: Engine) {
    if !has_z3() {
        return;
    }
    let counts: RefCell<BTreeMap<(Goal, bool), usize>> = RefCell::default();
    for_all(sketches(Features::ALL), cases(150).min(1_000), |sketch| {
        for memory in MemoryModel::MACHINES {
            let asked = questions(sketch, engine, memory);
            for asked in &asked {
                *counts.borrow_mut().entry((asked.goal, asked.satisfiable)).or_default() += 1;
            }
            z3_agrees(&asked).map_err(|why| format!("{memory}: {why}"))?;
        }
        Ok(())
    });
    let counts = counts.into_inner();
    eprintln!("questions by what they ask and whether the answer is yes: {counts:?}");
    for goal in [Goal::Deviate, Goal::Stuck, Goal::Race, Goal::Finish] {
        for answer in [false, true] {
            assert!(counts.contains_key(&(goal, answer)), "{goal:?} was never answered with {answer}");
        }
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    if !has_z3() {
        return;
    }
    let noticed = RefCell::new(0);
    for_all(sketches(Features::ALL), 5, |sketch| {
        let mut asked = questions(sketch, Engine::Mcr, MemoryModel::Tso);
        for at in 0..asked.len() {
            asked[at].satisfiable ^= true;
            if z3_agrees(&asked).is_ok() {
                return Err("z3 agrees with a wrong answer".to_string());
            }
            *noticed.borrow_mut() += 1;
            asked[at].satisfiable ^= true;
        }
        Ok(())
    });
    assert!(noticed.into_inner() > 0, "nothing was asked");
}
