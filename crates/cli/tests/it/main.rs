//! The built command: what it prints, and with which code it ends.

mod bad_input;
mod bench;
mod book;
mod browser;
mod cargo;
mod check;
mod clients;
mod documents;
mod graphs;
mod json;
mod limits;
mod lint;
mod litmus;
mod monitor;
mod outcomes;
mod outputs;
mod queries;
mod replay;
mod robust;
mod scratch;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Two threads that can both miss the other's store, unless memory is sequentially consistent.
const STORE_BUFFERING: &str = "\
shared x = 0, y = 0;
shared a = 1, b = 1;
thread left  { x = 1; let r = y; a = r; }
thread right { y = 1; let r = x; b = r; }
finally { assert(a + b > 0, \"both missed the other\"); }
";

/// What a run of the command gave.
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Run {
    /// All of it, for snapshots. Times differ from run to run and are left out.
    fn shown(&self) -> String {
        let mut shown = format!("exit code {}\n", self.code);
        for line in self.out.lines() {
            let _ = writeln!(shown, "{}", without_seconds(line));
        }
        for line in self.err.lines() {
            let _ = writeln!(shown, "stderr: {line}");
        }
        shown
    }
}

/// Cuts `, 0.12 s` from the end of a headline.
fn without_seconds(line: &str) -> String {
    let (line, end) = line.strip_suffix(')').map_or((line, ""), |line| (line, ")"));
    let is_time = |part: &&str| part.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok());
    match line.rsplit_once(", ").filter(|(_, last)| is_time(last)) {
        Some((rest, _)) => format!("{rest}{end}"),
        None => format!("{line}{end}"),
    }
}

/// Runs the command at the top of the repository.
fn unthread(arguments: &[&str]) -> Run {
    run(arguments, "", &root())
}

/// Runs the command with this program on standard input.
fn unthread_stdin(program: &str, arguments: &[&str]) -> Run {
    run(arguments, program, &root())
}

fn run(arguments: &[&str], input: &str, folder: &Path) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unthread"));
    command.args(arguments).current_dir(folder).env_remove("NO_COLOR");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    // A command that does not read its input closes the pipe.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints UTF-8");
    Run { code: output.status.code().expect("no signal ends it"), out: text(output.stdout), err: text(output.stderr) }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_WORKSPACE_DIR"))
}

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}
