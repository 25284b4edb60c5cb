//! `unthread replay --step`: one execution, step by step, on the terminal.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Color, Print, ResetColor, SetAttribute, SetForegroundColor};
use crossterm::{cursor, event, execute, queue, terminal};
use std::io;
use std::io::Write;
use unthread_checker::base::Source;
use unthread_checker::report::json::{JsonStore, Story};

/// Shows the story until the user leaves.
pub(crate) fn run(source: &Source, story: &Story, outcome: &str) -> anyhow::Result<()> {
    let mut out = io::stdout();
    terminal::enable_raw_mode()?;
    let _restore = Restore;
    execute!(out, terminal::EnterAlternateScreen, cursor::Hide)?;
    let mut at = 0;
    loop {
        let (width, height) = terminal::size()?;
        draw(&mut out, &screen(source, story, outcome, at, width.into(), height.into()))?;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match key_action(key) {
                Some(Action::Leave) => return Ok(()),
                Some(Action::Move(by)) => at = at.saturating_add_signed(by).min(story.steps.len()),
                None => {}
            },
            _ => {}
        }
    }
}

/// Gives the terminal back, also after a mistake.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Leave,
    Move(isize),
}

fn key_action(key: KeyEvent) -> Option<Action> {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Action::Leave),
        KeyCode::Char('q') | KeyCode::Esc => Some(Action::Leave),
        KeyCode::Down | KeyCode::Right | KeyCode::Enter | KeyCode::Char('j' | ' ') => Some(Action::Move(1)),
        KeyCode::Up | KeyCode::Left | KeyCode::Backspace | KeyCode::Char('k') => Some(Action::Move(-1)),
        KeyCode::PageDown => Some(Action::Move(10)),
        KeyCode::PageUp => Some(Action::Move(-10)),
        KeyCode::Home | KeyCode::Char('g') => Some(Action::Move(isize::MIN)),
        KeyCode::End | KeyCode::Char('G') => Some(Action::Move(isize::MAX)),
        _ => None,
    }
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Plain,
    Heading,
    Now,
    Faint,
}

/// The lines of a screen after `at` steps: what happened last above, the source in the middle, memory and buffers below.
fn screen(
    source: &Source,
    story: &Story,
    outcome: &str,
    at: usize,
    width: usize,
    height: usize,
) -> Vec<(Look, String)> {
    let mut lines = vec![(Look::Heading, format!("{}: step {at} of {}", source.name, story.steps.len()))];
    let state = state(story, at);
    let room = height.saturating_sub(lines.len() + state.len() + 3);
    let steps = room / 2;
    lines.extend(steps_around(story, at, steps.max(1)));
    lines.push((Look::Faint, "─".repeat(width)));
    lines.extend(source_around(source, story, at, room.saturating_sub(steps).max(1)));
    lines.push((Look::Faint, "─".repeat(width)));
    lines.extend(state);
    let keys = "↓ next  ↑ back  Home  End  q leaves";
    let end = if at == story.steps.len() { format!("{outcome}   {keys}") } else { keys.to_string() };
    lines.push((Look::Faint, end));
    lines.truncate(height);
    lines.into_iter().map(|(look, line)| (look, line.chars().take(width).collect())).collect()
}

/// The last step and those around it.
fn steps_around(story: &Story, at: usize, room: usize) -> Vec<(Look, String)> {
    let first = at.saturating_sub(room.div_ceil(2)).min(story.steps.len().saturating_sub(room));
    let shown = story.steps.iter().enumerate().skip(first).take(room);
    let lines = shown.map(|(index, step)| {
        let line = format!(
            "{:>5}  {:>4}  {:<14} {}",
            index + 1,
            step.line,
            format!("{} {}", step.thread, step.name),
            step.text
        );
        let look = if index + 1 == at {
            Look::Now
        } else if index >= at {
            Look::Faint
        } else {
            Look::Plain
        };
        (look, line)
    });
    lines.collect()
}

/// The source around the last step's line.
fn source_around(source: &Source, story: &Story, at: usize, room: usize) -> Vec<(Look, String)> {
    let line = at.checked_sub(1).map_or(1, |last| story.steps[last].line);
    let n_lines = source.text.lines().count();
    let first = line.saturating_sub(room / 2 + 1).min(n_lines.saturating_sub(room));
    let shown = source.text.lines().enumerate().skip(first).take(room);
    let lines = shown.map(|(index, text)| {
        let now = at > 0 && index + 1 == line;
        (if now { Look::Now } else { Look::Plain }, format!("{:>5} {} {text}", index + 1, if now { '▸' } else { ' ' }))
    });
    lines.collect()
}

/// Memory, and what waits in each buffer.
fn state(story: &Story, at: usize) -> Vec<(Look, String)> {
    let mut memory: Vec<JsonStore> = story.initial.clone();
    let mut buffers: Vec<&[JsonStore]> = vec![&[]; story.threads.len()];
    for step in &story.steps[..at] {
        if let (Some(cell), Some(value), false, None) = (&step.cell, step.written, step.buffered, step.failure) {
            let stored = JsonStore { cell: cell.clone(), value, value_as: step.written_as.clone() };
            match memory.iter_mut().find(|store| store.cell == *cell) {
                Some(store) => *store = stored,
                None => memory.push(stored),
            }
        }
        buffers[usize::from(step.thread)] = &step.buffer;
    }
    let list = |stores: &[JsonStore]| {
        let shown = |store: &JsonStore| {
            format!("{}={}", store.cell, store.value_as.clone().unwrap_or_else(|| store.value.to_string()))
        };
        stores.iter().map(shown).collect::<Vec<_>>().join("  ")
    };
    let mut lines = vec![(Look::Heading, "memory".to_string()), (Look::Plain, format!("  {}", list(&memory)))];
    if story.steps.iter().any(|step| !step.buffer.is_empty()) {
        lines.push((Look::Heading, "store buffers".to_string()));
        let buffers = story.threads.iter().zip(&buffers).filter(|(_, buffer)| !buffer.is_empty());
        lines.extend(buffers.map(|(name, buffer)| (Look::Plain, format!("  {name}: {}", list(buffer)))));
    }
    lines
}

fn draw(out: &mut impl Write, lines: &[(Look, String)]) -> anyhow::Result<()> {
    queue!(out, terminal::Clear(terminal::ClearType::All))?;
    for (row, (look, line)) in lines.iter().enumerate() {
        queue!(out, cursor::MoveTo(0, row as u16))?;
        match look {
            Look::Plain => {}
            Look::Heading => queue!(out, SetAttribute(Attribute::Bold))?,
            Look::Now => queue!(out, SetAttribute(Attribute::Reverse))?,
            Look::Faint => queue!(out, SetForegroundColor(Color::DarkGrey))?,
        }
        queue!(out, Print(line), SetAttribute(Attribute::Reset), ResetColor)?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use unthread_checker::execution::MemoryModel;
    use unthread_checker::frontend::ut;
    use unthread_checker::search;

    const PROGRAM: &str = "shared x, y;\nthread left { x = 1; let r = y; }\nthread right { y = 1; let r = x; }\n";

    fn shown(at: usize, height: usize) -> Vec<(Look, String)> {
        let source = Arc::new(Source::new("sb.ut", PROGRAM));
        let program = ut::parse(source.clone(), &Default::default()).expect("it is right");
        let replay = search::replay(&program, MemoryModel::Tso.rules(), &"0x2.1.0f".parse().expect("a schedule"));
        let story = Story::of(&program, &replay.expect("it fits").trace);
        screen(&source, &story, "the end", at, 60, height)
    }

    #[test]
    fn a_screen_shows_the_step_its_line_memory_and_buffers() {
        let lines: Vec<String> = shown(2, 24).into_iter().map(|(look, line)| format!("{look:?} {line}")).collect();
        let has = |text: &str| assert!(lines.iter().any(|line| line.contains(text)), "{text}: {lines:#?}");
        has("sb.ut: step 2 of 4");
        has("Now     2     2  0 left         r: y → 0");
        has("Now     2 ▸ thread left");
        has("  x=0  y=0");
        has("  left: x=1");
        let lines = shown(4, 24);
        assert!(lines.iter().any(|(_, line)| line.contains("x=1  y=0")), "{lines:#?}");
        assert!(lines.last().is_some_and(|(_, line)| line.starts_with("the end")), "{lines:#?}");
    }

    #[test]
    fn a_small_terminal_gets_no_more_lines_than_it_has() {
        for height in 1..12 {
            assert!(shown(3, height).len() <= height);
        }
    }

    #[test]
    fn keys_move_and_leave() {
        let action = |code: KeyCode| key_action(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(action(KeyCode::Down), Some(Action::Move(1)));
        assert_eq!(action(KeyCode::Char('k')), Some(Action::Move(-1)));
        assert_eq!(action(KeyCode::Esc), Some(Action::Leave));
        assert_eq!(key_action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::Leave));
        assert_eq!(action(KeyCode::Char('x')), None);
    }
}
