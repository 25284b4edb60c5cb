//! Generated scripts over the types that hold what only the code under test sees: `mcr` and `cumulative` see the same outcomes as `dpor`, under every memory model, and
//! find something wrong iff `dpor` does. `cumulative` needs no more executions than there are combinations of histories.

use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use std::time::Duration;
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, MemoryModel, Report, StopReason};
use unthread::sync::atomic::{AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, mpsc};
use unthread::{hint, thread};
use unthread_generate::{cases, check_all};

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Command {
    Push,
    Look,
    TryPush,
    WriteLock,
    ReadLock,
    Send,
    Receive,
    ReceiveInTime,
    GetOrInit,
    Get,
    Store(usize),
    Load,
    Increment,
    /// Plain data, by whoever comes first.
    Claim,
    DropArc,
    Await,
    Notify,
    Park,
    Unpark,
    Spin,
}

const COMMANDS: [Command; 21] = [
    Command::Push,
    Command::Push,
    Command::Look,
    Command::TryPush,
    Command::WriteLock,
    Command::ReadLock,
    Command::Send,
    Command::Receive,
    Command::ReceiveInTime,
    Command::GetOrInit,
    Command::Get,
    Command::Store(1),
    Command::Load,
    Command::Increment,
    Command::Claim,
    Command::DropArc,
    Command::Await,
    Command::Notify,
    Command::Park,
    Command::Unpark,
    Command::Spin,
];

/// One list of commands for each thread but the main one, which waits for them.
type Script = Vec<Vec<Command>>;

fn scripts() -> impl Strategy<Value = Script> {
    let command = prop::sample::select(&COMMANDS[..]);
    prop::collection::vec(prop::collection::vec(command, 1..4), 2..4)
}

#[test]
fn generated_scripts_have_the_same_outcomes_with_mcr_and_dpor() {
    compare_all(Engine::Mcr);
}

#[test]
fn generated_scripts_have_the_same_outcomes_with_cumulative_and_dpor() {
    compare_all(Engine::Cumulative);
}

#[test]
fn generated_scripts_have_the_same_outcomes_with_graph_and_dpor() {
    compare_all(Engine::Graph);
}

/// What a machine can do, the language allows.
#[test]
fn generated_scripts_can_do_under_the_language_what_they_can_do_on_machines() {
    check_all(scripts(), cases(150), |script| {
        let (on_machine, seen) = outcomes(script, MemoryModel::Pso, Engine::Dpor);
        let (report, allowed) = outcomes(script, MemoryModel::Cpp20, Engine::Graph);
        if report.stop == StopReason::ExecutionLimit || on_machine.stop == StopReason::ExecutionLimit {
            return Ok(());
        }
        let is_wrong = |report: &Report| !report.violations.is_empty();
        match (is_wrong(&on_machine), is_wrong(&report)) {
            (_, true) => Ok(()),
            (true, false) => Err(format!("{:?} is missed", on_machine.violations)),
            // Engine graph lets no thread give up waiting where nothing else can happen, and says so.
            _ if waits(script) && matches!(report.stop, StopReason::Unsupported(_)) => Ok(()),
            _ if report.stop != StopReason::Exhausted => Err(format!("{:?}", report.stop)),
            _ => match seen.difference(&allowed).next() {
                Some(missing) => Err(format!("missing {missing:?}")),
                None => Ok(()),
            },
        }
    });
}

/// Three threads that wait for a condition variable, and nobody who notifies them: one question to the solver takes minutes.
#[test]
fn a_question_that_takes_long_is_given_up_when_the_time_is_up() {
    use Command::{Await, ReadLock, WriteLock};
    let script: Script = vec![vec![ReadLock, Await], vec![WriteLock, WriteLock, Await], vec![Await]];
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_secs(1));
    let started = std::time::Instant::now();
    let report = builder.memory(MemoryModel::Sc).engine(Engine::Cumulative).report(move || drop(run(&script)));
    assert!(report.violations.is_empty());
    let is_whole = report.stop == StopReason::Exhausted;
    assert!(is_whole || report.stop == StopReason::TimeLimit, "{:?}", report.stop);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

fn compare_all(engine: Engine) {
    check_all(scripts(), cases(150), |script| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| compare(script, memory, engine))
    });
}

/// Whether a thread waits for some time, and so may have to give up.
fn waits(script: &Script) -> bool {
    let waits = |command: &Command| matches!(command, Command::Await | Command::ReceiveInTime | Command::Park);
    script.iter().flatten().any(waits)
}

/// What the threads of one execution saw.
type Outcome = Vec<Vec<usize>>;

const MOST_EXECUTIONS: usize = 3000;

fn compare(script: &Script, memory: MemoryModel, engine: Engine) -> Result<(), String> {
    let (by_dpor, expected) = outcomes(script, memory, Engine::Dpor);
    if by_dpor.stop == StopReason::ExecutionLimit {
        return Ok(());
    }
    let (by_it, seen) = outcomes(script, memory, engine);
    let kind = |report: &Report| report.violations.first().map(|found| found.kind);
    // Who asks for the last reference to what has no destructor asks for what others do not count.
    let mixes = script.iter().flatten().any(|command| matches!(command, Command::DropArc));
    // A wait that times out because nothing else can happen is left to `dpor`.
    let waits = waits(script);
    if by_it.engine != engine && !(waits || mixes && engine == Engine::Cumulative) {
        return Err(format!("{memory}: it was left to {}", by_it.engine));
    }
    if by_it.verdict() != by_dpor.verdict() {
        return Err(format!(
            "{memory}: {:?} {:?}, and with dpor {:?} {:?}",
            by_it.stop,
            kind(&by_it),
            by_dpor.stop,
            kind(&by_dpor)
        ));
    }
    if engine == Engine::Cumulative && by_it.engine == engine && by_it.stop == StopReason::Exhausted && !waits {
        let [most, executions] = [outcomes(script, memory, Engine::Mcr).0, by_it].map(|it| it.statistics.executions);
        if executions > most {
            return Err(format!("{memory}: {executions} executions, and there are {most} combinations of histories"));
        }
    }
    if by_dpor.stop == StopReason::Exhausted && seen != expected {
        let missing: Vec<_> = expected.difference(&seen).take(3).collect();
        let extra: Vec<_> = seen.difference(&expected).take(3).collect();
        return Err(format!("{memory}: missing {missing:?}, too many {extra:?}"));
    }
    Ok(())
}

fn outcomes(script: &Script, memory: MemoryModel, engine: Engine) -> (Report, BTreeSet<Outcome>) {
    let seen: StdArc<StdMutex<BTreeSet<Outcome>>> = StdArc::default();
    let (notes, script) = (seen.clone(), script.clone());
    let mut builder = Builder::new();
    builder.max_permutations = Some(MOST_EXECUTIONS);
    let report = builder.memory(memory).engine(engine).report(move || {
        let outcome = run(&script);
        notes.lock().unwrap().insert(outcome);
    });
    let seen = seen.lock().unwrap().clone();
    (report, seen)
}

struct World {
    list: Mutex<Vec<usize>>,
    changed: Condvar,
    value: RwLock<usize>,
    sender: mpsc::Sender<usize>,
    receiver: RefCell<Option<mpsc::Receiver<usize>>>,
    once: OnceLock<usize>,
    number: AtomicUsize,
    claim: AtomicUsize,
    plain: UnsafeCell<usize>,
}

fn run(script: &Script) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let world = Rc::new(World {
        list: Mutex::new(Vec::new()),
        changed: Condvar::new(),
        value: RwLock::new(0),
        sender,
        receiver: RefCell::new(Some(receiver)),
        once: OnceLock::new(),
        number: AtomicUsize::new(0),
        claim: AtomicUsize::new(0),
        plain: UnsafeCell::new(0),
    });
    let counted = Arc::new(());
    let receives = |commands: &[Command]| {
        commands.iter().any(|command| matches!(command, Command::Receive | Command::ReceiveInTime))
    };
    let mut elder = None;
    let threads: Vec<_> = script
        .iter()
        .enumerate()
        .map(|(index, commands)| {
            // There is one receiver, and who has it is not a question of time.
            let receiver = world.receiver.borrow_mut().take_if(|_| receives(commands));
            let mut actor = Actor {
                number: index + 1,
                world: world.clone(),
                receiver,
                counted: Some(counted.clone()),
                elder: elder.take(),
                seen: Vec::new(),
            };
            let commands = commands.clone();
            let handle = thread::spawn(move || {
                commands.iter().for_each(|&command| actor.perform(command));
                actor.seen
            });
            elder = Some(handle.thread().clone());
            handle
        })
        .collect();
    drop(counted);
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

struct Actor {
    number: usize,
    world: Rc<World>,
    receiver: Option<mpsc::Receiver<usize>>,
    counted: Option<Arc<()>>,
    /// The thread that was made before this one.
    elder: Option<thread::Thread>,
    seen: Vec<usize>,
}

impl Actor {
    fn perform(&mut self, command: Command) {
        let (world, number) = (self.world.clone(), self.number);
        match command {
            Command::Push => {
                let mut list = world.list.lock().unwrap();
                list.push(number);
                self.seen.push(list.len());
            }
            Command::Look => self.seen.extend(world.list.lock().unwrap().iter()),
            Command::TryPush => match world.list.try_lock() {
                Ok(mut list) => list.push(number),
                Err(_) => self.seen.push(100),
            },
            Command::WriteLock => *world.value.write().unwrap() = number,
            Command::ReadLock => self.seen.push(*world.value.read().unwrap()),
            Command::Send => world.sender.send(number).unwrap_or(()),
            Command::Receive => self.seen.push(self.receiver.as_ref().map_or(200, |it| it.try_recv().unwrap_or(201))),
            Command::ReceiveInTime => {
                let second = Duration::from_secs(1);
                self.seen.push(self.receiver.as_ref().map_or(200, |it| it.recv_timeout(second).unwrap_or(202)));
            }
            Command::GetOrInit => self.seen.push(*world.once.get_or_init(|| number)),
            Command::Get => self.seen.push(world.once.get().copied().unwrap_or(300)),
            Command::Store(value) => world.number.store(value, Release),
            Command::Load => self.seen.push(world.number.load(Acquire)),
            Command::Increment => self.seen.push(world.number.fetch_add(1, AcqRel)),
            Command::Claim => match world.claim.compare_exchange(0, 1, AcqRel, Acquire) {
                Ok(_) => {
                    world.plain.with_mut(|plain| unsafe { *plain = number });
                    world.claim.store(2, Release);
                }
                Err(2) => self.seen.push(world.plain.with(|plain| unsafe { *plain })),
                Err(_) => self.seen.push(400),
            },
            Command::DropArc => {
                let last = self.counted.take().and_then(Arc::into_inner);
                self.seen.push(500 + usize::from(last.is_some()));
            }
            Command::Await => {
                let list = world.list.lock().unwrap();
                let (list, late) = world.changed.wait_timeout(list, Duration::from_secs(1)).unwrap();
                self.seen.extend([list.len(), 600 + usize::from(late.timed_out())]);
            }
            Command::Notify => world.changed.notify_one(),
            Command::Park => thread::park_timeout(Duration::from_secs(1)),
            Command::Unpark => {
                self.elder.iter().for_each(|thread| thread.unpark());
            }
            Command::Spin => {
                let mut turns = 0;
                while world.number.load(Acquire) == 0 && turns < 1 {
                    turns += 1;
                    hint::spin_loop();
                }
                self.seen.push(700 + turns);
            }
        }
    }
}
