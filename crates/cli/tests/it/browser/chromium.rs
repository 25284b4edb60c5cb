//! A browser without a window, driven over its debugging pipe: commands go in and answers and events come out as JSON, each ended by a zero byte.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running browser with one page.
pub(super) struct Chromium {
    child: Child,
    commands: File,
    answers: BufReader<File>,
    session: String,
    n_sent: u64,
    /// What the page complained about.
    pub(super) complaints: Vec<String>,
    /// What the page asked for.
    pub(super) requests: Vec<String>,
}

/// The command that starts the browser, if there is one.
fn program() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works)
}

impl Chromium {
    /// Starts a browser that keeps its things in a folder; nothing where none is installed.
    pub(super) fn start(folder: &Path) -> Option<Chromium> {
        let Some(program) = program() else {
            println!("skipped: there is no chromium; `.ci/run` installs it where it can");
            return None;
        };
        let [input, output] = ["in", "out"].map(|name| folder.join(name));
        let made = Command::new("mkfifo").arg(&input).arg(&output).status();
        assert!(made.is_ok_and(|status| status.success()), "pipes with names can be made");
        // The browser reads commands from descriptor 3 and writes to 4, which only a shell can give it.
        let flags =
            "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --remote-debugging-pipe";
        let line = format!("exec {program} {flags} --user-data-dir=profile about:blank 3<in 4>out");
        let child = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell runs");
        let commands = File::options().write(true).open(&input).expect("the browser listens");
        let answers = BufReader::new(File::open(&output).expect("the browser answers"));
        let (complaints, requests) = Default::default();
        let mut browser =
            Chromium { child, commands, answers, session: String::new(), n_sent: 0, complaints, requests };
        let target = browser.send("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session = text(&browser.send("Target.attachToTarget", attach)["sessionId"]);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.send(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1360, 850);
        Some(browser)
    }

    /// Sends a command and gives its result. What the page does meanwhile is noted.
    pub(super) fn send(&mut self, method: &str, parameters: Value) -> Value {
        self.n_sent += 1;
        let mut message = json!({ "id": self.n_sent, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.receive();
            if answer["id"] == json!(self.n_sent) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).expect("the browser answers");
        bytes.pop();
        let message: Value = serde_json::from_slice(&bytes).expect("it speaks JSON");
        self.note(&message);
        message
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some("Network.requestWillBeSent") => {
                let url = text(&parameters["request"]["url"]);
                if !url.starts_with("data:") {
                    self.requests.push(url);
                }
            }
            _ => {}
        }
    }

    /// Opens a file and waits until it is there.
    pub(super) fn open(&mut self, file: &Path) {
        (self.complaints, self.requests) = Default::default();
        self.send("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while self.receive()["method"] != "Page.loadEventFired" {}
    }

    /// The value of an expression on the page.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let result = self.send("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// One of the numbers that the browser keeps about its own work.
    pub(super) fn metric(&mut self, name: &str) -> f64 {
        let metrics = self.send("Performance.getMetrics", json!({}));
        let metric = metrics["metrics"].as_array().and_then(|all| all.iter().find(|metric| metric["name"] == name));
        metric.and_then(|metric| metric["value"].as_f64()).expect("the browser keeps it")
    }

    /// The text of the first element that a selector finds.
    pub(super) fn text(&mut self, selector: &str) -> String {
        text(&self.value(&format!("document.querySelector({selector:?})?.textContent ?? ''")))
    }

    /// Presses a key.
    pub(super) fn press(&mut self, key: &str) {
        let code = match key {
            "Home" => 36,
            "End" => 35,
            "ArrowDown" => 40,
            "ArrowUp" => 38,
            "PageDown" => 34,
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            _ => key.to_ascii_uppercase().bytes().next().unwrap_or(0).into(),
        };
        let typed = if key.len() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "text": typed, "windowsVirtualKeyCode": code });
            self.send("Input.dispatchKeyEvent", event);
        }
    }

    /// Makes the window this large.
    pub(super) fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.send("Emulation.setDeviceMetricsOverride", size);
    }

    /// Pretends a medium (`screen`, `print`) and a colour scheme (`light`, `dark`).
    pub(super) fn medium(&mut self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.send("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// What is seen, as a picture in a file.
    pub(super) fn picture(&mut self, file: &Path) {
        let picture = self.send("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = data_encoding::BASE64.decode(text(&picture["data"]).as_bytes()).expect("it is base64");
        std::fs::write(file, bytes).expect("the folder is writable");
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}
