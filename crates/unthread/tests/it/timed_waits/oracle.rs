//! Scripts with waits for some time, and what can be seen of them: a search of states, one step of one thread at a time.

use std::collections::{BTreeSet, VecDeque};

/// One list of commands for each thread but the main one, which waits for them. The first thread receives, and can be unparked.
pub(super) type Script = Vec<Vec<Command>>;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Takes the lock, and waits for some time to be notified.
    Wait,
    WaitForEver,
    Notify,
    NotifyAll,
    /// Counts up under the lock.
    Bump,
    /// Waits for some time to be unparked.
    Park,
    /// The same, with the lock; then counts up.
    HoldAndPark,
    Unpark,
    /// Waits for some time for a message.
    Receive,
    Send,
    Set,
    Look,
}

impl Command {
    pub(super) const ALL: [Command; 14] = [
        Command::Wait,
        Command::Wait,
        Command::WaitForEver,
        Command::Notify,
        Command::NotifyAll,
        Command::Bump,
        Command::Park,
        Command::Park,
        Command::HoldAndPark,
        Command::Unpark,
        Command::Receive,
        Command::Send,
        Command::Set,
        Command::Look,
    ];
}

/// When waits for some time may time out, beside those that the number for each thread allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeOuts {
    WhereNothingElse,
    Always,
    Never,
}

/// Where a thread is in its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Start,
    /// It has the lock.
    Holding,
    Waiting,
    /// It has been notified, or its wait has timed out, and it wants the lock back.
    Back {
        late: bool,
    },
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    next: usize,
    at: At,
    left: usize,
    parked_token: bool,
    seen: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<Thread>,
    holder: Option<usize>,
    count: usize,
    flag: usize,
    messages: VecDeque<usize>,
}

/// All outcomes; or none, if some execution ends in a deadlock, and that it does.
pub(super) fn everything(script: &Script, left: usize, rule: TimeOuts) -> (BTreeSet<Vec<Vec<usize>>>, bool) {
    let thread = Thread { next: 0, at: At::Start, left, parked_token: false, seen: Vec::new() };
    let threads = vec![thread; script.len()];
    let start = State { threads, holder: None, count: 0, flag: 0, messages: VecDeque::new() };
    let (mut known, mut open) = (BTreeSet::from([start.clone()]), vec![start]);
    let (mut outcomes, mut deadlock) = (BTreeSet::new(), false);
    while let Some(state) = open.pop() {
        let mut next: Vec<State> = (0..script.len()).flat_map(|at| steps(script, &state, at)).collect();
        let all_late: Vec<State> = (0..script.len()).filter_map(|at| late(script, &state, at)).collect();
        let is_stuck = next.is_empty();
        next.extend((0..script.len()).filter(|&at| state.threads[at].left > 0).filter_map(|at| {
            let mut late = late(script, &state, at)?;
            late.threads[at].left -= 1;
            Some(late)
        }));
        if rule == TimeOuts::Always || is_stuck && rule == TimeOuts::WhereNothingElse {
            next.extend(all_late.iter().cloned());
        }
        if next.is_empty() && all_late.is_empty() {
            match state.threads.iter().zip(script).all(|(thread, commands)| thread.next == commands.len()) {
                true => drop(outcomes.insert(state.threads.iter().map(|thread| thread.seen.clone()).collect())),
                false => deadlock = true,
            }
        }
        open.extend(next.into_iter().filter(|state| known.insert(state.clone())));
    }
    if deadlock { (BTreeSet::new(), true) } else { (outcomes, false) }
}

/// What a thread can do but give up.
fn steps(script: &Script, state: &State, at: usize) -> Vec<State> {
    let Some(&command) = script[at].get(state.threads[at].next) else { return Vec::new() };
    let mut next = state.clone();
    let mut all = Vec::new();
    let this = &mut next.threads[at];
    match (command, this.at) {
        (Command::Wait | Command::WaitForEver | Command::Bump | Command::HoldAndPark, At::Start) => {
            if state.holder.is_some() {
                return all;
            }
            (this.at, next.holder) = (At::Holding, Some(at));
        }
        (Command::Wait | Command::WaitForEver, At::Holding) => (this.at, next.holder) = (At::Waiting, None),
        (Command::Wait | Command::WaitForEver, At::Back { late }) => {
            if state.holder.is_some() {
                return all;
            }
            this.seen.push(state.count);
            this.seen.extend((command == Command::Wait).then_some(100 + usize::from(late)));
            this.done();
        }
        (Command::Bump, _) => {
            next.count += 1;
            this.seen.push(next.count);
            next.holder = None;
            this.done();
        }
        (Command::Park, At::Start) | (Command::HoldAndPark, At::Holding) => {
            if !this.parked_token {
                return all;
            }
            wake_from_park(&mut next, at, command);
        }
        (Command::Receive, _) if at == 0 => {
            let Some(message) = next.messages.pop_front() else { return all };
            this.seen.push(message);
            this.done();
        }
        (Command::Notify, _) => {
            this.done();
            let waiting = waiting(script, state);
            all.extend(waiting.iter().map(|&waiter| {
                let mut next = next.clone();
                next.threads[waiter].at = At::Back { late: false };
                next
            }));
            if !waiting.is_empty() {
                return all;
            }
        }
        (Command::NotifyAll, _) => {
            this.done();
            waiting(script, state).iter().for_each(|&waiter| next.threads[waiter].at = At::Back { late: false });
        }
        (Command::Unpark, _) => {
            this.done();
            // The first thread does not know itself.
            next.threads[0].parked_token |= at > 0;
        }
        (Command::Send, _) => {
            this.done();
            next.messages.push_back(at);
        }
        (Command::Set, _) => {
            this.done();
            next.flag = at + 1;
        }
        (Command::Look, _) => {
            this.seen.push(state.flag);
            this.done();
        }
        (Command::Receive, _) => this.done(),
        _ => return all,
    }
    all.push(next);
    all
}

/// The thread's wait times out, if it waits for some time.
fn late(script: &Script, state: &State, at: usize) -> Option<State> {
    let mut next = state.clone();
    let command = *script[at].get(state.threads[at].next)?;
    let this = &mut next.threads[at];
    match (command, this.at) {
        (Command::Wait, At::Waiting) => this.at = At::Back { late: true },
        (Command::Park, At::Start) | (Command::HoldAndPark, At::Holding) if !this.parked_token => {
            wake_from_park(&mut next, at, command);
        }
        (Command::Receive, At::Start) if at == 0 && state.messages.is_empty() => {
            this.seen.push(99);
            this.done();
        }
        _ => return None,
    }
    Some(next)
}

fn waiting(script: &Script, state: &State) -> Vec<usize> {
    let waits = |at: &usize| state.threads[*at].at == At::Waiting;
    (0..script.len()).filter(waits).collect()
}

fn wake_from_park(state: &mut State, at: usize, command: Command) {
    state.threads[at].parked_token = false;
    if command == Command::HoldAndPark {
        state.count += 1;
        state.holder = None;
    }
    state.threads[at].done();
}

impl Thread {
    /// The command is done.
    fn done(&mut self) {
        (self.next, self.at) = (self.next + 1, At::Start);
    }
}
