//! Reports in a real browser: what is shown, by keys alone, without a complaint and without a request. Pictures are left in the target folder to look
//! at.

mod chromium;

use super::{folder, root, run};
use chromium::Chromium;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Checks a program and gives the page that was written.
fn page(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let file = folder.join(name);
    let html = file.to_str().expect("the folder's name is text");
    let run = run(&[&["check", "--html", html], arguments].concat(), "", &root());
    assert!(run.code <= 1, "{}", run.shown());
    file
}

fn assert_quiet(browser: &Chromium) {
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_eq!(browser.requests.len(), 1, "the page itself and nothing else: {:?}", browser.requests);
}

/// How many of the events that matter are on the screen.
const SHOWN_EVENTS: &str = "[...document.querySelectorAll('.row.key')].filter((row) => { \
    const [box, around] = [row, document.querySelector('.timeline')].map((element) => element.getBoundingClientRect()); \
    return box.top >= around.top && box.bottom <= around.bottom; }).length";

#[test]
fn the_outcome_that_a_litmus_test_asks_for_is_stepped_through() {
    let folder = folder("browser_witness");
    let file = page(&folder, "sb.html", &["corpus/litmus/SB.litmus"]);
    let Some(mut browser) = Chromium::start(&folder) else { return };
    browser.open(&file);
    assert!(browser.text(".why .what").starts_with("witness: exists"), "{}", browser.text(".why .what"));
    assert!(browser.text("#sentence").contains("was still in its buffer when"), "{}", browser.text("#sentence"));
    assert!(browser.text("#cycle").contains("did not see"));
    browser.press("Home");
    browser.press("j");
    assert!(browser.text("#position").starts_with("step 2 of "), "{}", browser.text("#position"));
    browser.picture(&folder.join("witness.png"));
}

#[test]
fn a_report_is_stepped_through_by_keys() {
    let folder = folder("browser_keys");
    let file = page(&folder, "dekker.html", &["corpus/programs/dekker.ut"]);
    let Some(mut browser) = Chromium::start(&folder) else { return };
    browser.open(&file);
    assert_eq!(
        browser.text("#sentence"),
        "worker[1]'s store to wants[1] (line 12) was still in its buffer when worker[0] read wants[1] (line 13)"
    );
    // The first screen is where the two events show: the read is the present step, and the store is in its buffer.
    assert_eq!(browser.text("#position"), "step 5 of 14");
    assert_eq!(browser.text(".row.now .event"), "wants[1] → 0:13");
    assert_eq!(browser.text("#buffers"), "worker[0]emptyworker[1]wants[1] = 1");
    assert_eq!(browser.text(".source .now"), "13    while wants[other] == 1 {".replacen("13", "1301", 1));
    assert_eq!(browser.value(SHOWN_EVENTS), 2);
    browser.picture(&folder.join("first.png"));
    browser.press("j");
    assert_eq!(browser.text("#position"), "step 6 of 14");
    browser.press("Home");
    assert_eq!(browser.text("#memory"), "wants[0]0wants[1]0inside0");
    browser.press("End");
    assert_eq!(browser.text(".row.now .event"), "✗ assertion:30");
    assert_eq!(browser.text("#memory"), "wants[0]1wants[1]1inside2");
    browser.press("n");
    assert_eq!(browser.text("#position"), "step 1 of 14");
    assert!(browser.text("#cycle").contains("did not see"));
    browser.press("s");
    assert!(
        browser.text("#sentence").contains("every thread ends, and nothing is wrong"),
        "{}",
        browser.text("#sentence")
    );
    assert_eq!(browser.value("document.querySelectorAll('.event.differs').length > 0"), true);
    browser.picture(&folder.join("sequential.png"));
    browser.press("s");
    browser.press("2");
    assert!(browser.text("#summary").contains("violation"));
    assert!(browser.text("#reads").contains("wants[other]"), "{}", browser.text("#reads"));
    browser.picture(&folder.join("exploration.png"));
    browser.press("1");
    browser.press("t");
    browser.picture(&folder.join("dark.png"));
    browser.press("?");
    assert!(browser.text("dialog").contains("next step"));
    browser.press("Escape");
    browser.medium("print", "light");
    browser.picture(&folder.join("print.png"));
    assert_quiet(&browser);
}

#[test]
fn the_first_screen_of_ten_bugs_shows_the_two_events_that_matter() {
    let folder = folder("browser_ten");
    let bugs = [
        ("dekker", "tso"),
        ("peterson", "tso"),
        ("bakery", "tso"),
        ("lost_wakeup", "tso"),
        ("peers/mp", "pso"),
        ("treiber_aba", "sc"),
        ("account", "sc"),
        ("papers/deadlock", "sc"),
        ("papers/stringbuf", "sc"),
        ("papers/mtlist", "sc"),
    ];
    let pages = bugs.map(|(program, memory)| {
        let name = program.replace('/', "_");
        let file =
            page(&folder, &format!("{name}.html"), &[&format!("corpus/programs/{program}.ut"), "--memory", memory]);
        (name, file)
    });
    let Some(mut browser) = Chromium::start(&folder) else { return };
    for (name, file) in pages {
        browser.open(&file);
        browser.picture(&folder.join(format!("{name}.png")));
        assert_eq!(browser.value(SHOWN_EVENTS), 2, "{name}");
        let named = "view.found.events.every((at) => \
                     document.getElementById('sentence').textContent.match(/\\d+/g).includes(String(view.found.steps[at].line)))";
        assert_eq!(browser.value(named), true, "{name}: the sentence names their lines");
        assert_quiet(&browser);
    }
}

#[test]
fn buttons_and_slider_do_what_keys_do() {
    let folder = folder("browser_mouse");
    let file = page(&folder, "deadlock.html", &["corpus/programs/papers/deadlock.ut", "--memory", "sc"]);
    let Some(mut browser) = Chromium::start(&folder) else { return };
    browser.open(&file);
    browser.value("document.querySelector('[aria-label=\"First step\"]').click()");
    assert!(browser.text("#position").starts_with("step 1 of"));
    browser.value("document.querySelector('[aria-label=\"Step on\"]').click()");
    let second = browser.text("#position");
    browser.value("{ const slider = document.getElementById('slider'); slider.value = 0; slider.dispatchEvent(new Event('input')); }");
    assert!(second.starts_with("step 2 of") && browser.text("#position").starts_with("step 1 of"));
    assert_eq!(browser.value("document.querySelectorAll('.row.pending').length"), 2);
    browser.picture(&folder.join("deadlock.png"));
    assert_quiet(&browser);
}

#[test]
fn several_reports_share_a_page() {
    let folder = folder("browser_several");
    let file = page(&folder, "all.html", &["corpus/programs/peterson.ut", "--memory", "all", "--engine", "mcr"]);
    let Some(mut browser) = Chromium::start(&folder) else { return };
    browser.open(&file);
    assert_eq!(browser.text(".where"), "TSO · engine mcr");
    for memory in ["PSO", "CPP20", "RC11", "SC"] {
        browser.press("]");
        assert_eq!(browser.text(".where"), format!("{memory} · engine mcr"));
    }
    assert!(browser.text("#summary").contains("Covered: all executions"));
    assert!(browser.text("#stages").contains("solving"));
    browser.picture(&folder.join("verified.png"));
    assert_quiet(&browser);
}

/// Ten threads that add to a counter without a lock, 500 steps in all.
fn long_program() -> String {
    let mut text = "shared counter = 0, done = 0;\nshared slots[10] = 0;\n".to_string();
    text += "thread worker(me) * 10 {\n";
    for round in 1..=16 {
        let _ = writeln!(text, "    slots[me] = {round};\n    let r{round} = slots[me];");
    }
    text += "    counter += 1;\n    done.fetch_add(1);\n}\nfinally { assert(counter == 10, \"an update is lost\"); }\n";
    text
}

#[test]
fn a_long_execution_opens_at_once() {
    let folder = folder("browser_long");
    let program = folder.join("long.ut");
    std::fs::write(&program, long_program()).expect("the folder is writable");
    let name = program.to_str().expect("the folder's name is text");
    let file = page(&folder, "long.html", &[name, "--engine", "random", "--memory", "tso"]);
    let size = std::fs::metadata(&file).expect("it was written").len();
    assert!(size < 1_000_000, "{size} bytes");
    let Some(mut browser) = Chromium::start(&folder) else { return };
    // Time of the processor: how long it takes to wait for one on a busy machine says nothing about the page.
    browser.send("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    let before = browser.metric("TaskDuration");
    browser.open(&file);
    let steps = browser.value("view.story.steps.length");
    assert!(steps.as_u64().is_some_and(|steps| steps >= 480), "{steps}");
    let seconds = browser.metric("TaskDuration") - before;
    let wall = browser.value("performance.timing.loadEventEnd - performance.timing.navigationStart");
    println!("a page with {steps} steps: {size} bytes, opened in {seconds:.3} s of work, {wall} ms in all");
    assert!(seconds < 1.0, "{seconds} s");
    browser.picture(&folder.join("long.png"));
    browser.press("f");
    browser.press("PageDown");
    browser.picture(&folder.join("unfolded.png"));
    let step_time = browser.value(
        "{ const start = performance.now(); for (let i = 0; i < 20; i++) move(1); (performance.now() - start) / 20 }",
    );
    println!("a step takes {step_time} ms");
    assert!(step_time.as_f64().is_some_and(|time| time < 100.0), "{step_time} ms per step");
    assert_quiet(&browser);
}
