//! Documents that show what is printed show what is printed.

use super::{folder, root, run, unthread_stdin};
use serde_json::Value;
use std::collections::BTreeSet;

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("the document is there")
}

/// The first block of this kind.
fn block<'a>(text: &'a str, fence: &str) -> &'a str {
    let opening = format!("```{fence}\n");
    let start = text.find(&opening).unwrap_or_else(|| panic!("there is no ```{fence} block")) + opening.len();
    &text[start..start + text[start..].find("```").expect("the block is closed")]
}

#[test]
fn the_readmes_counterexample_is_what_is_printed() {
    let readme = document("README.md");
    let folder = folder("readme");
    std::fs::write(folder.join("peterson.ut"), block(&readme, "ut")).expect("the folder is writable");
    let run = run(&["check", "peterson.ut"], "", &folder);
    assert_eq!(run.code, 1);
    assert_eq!(run.out.trim_end(), block(&readme, "text").trim_end());
}

#[test]
fn the_readmes_fences_repair_its_example() {
    let readme = document("README.md");
    let code = |program: &str, memory: &str| unthread_stdin(program, &["check", "-", "--memory", memory]).code;
    let program = block(&readme, "ut");
    assert_eq!(code(program, "sc"), 0);
    let one_fence = program.replace("turn = 1 - me;", "turn = 1 - me; fence;");
    assert_eq!((code(&one_fence, "tso"), code(&one_fence, "pso")), (0, 1));
    let fences = program.replace("1;\n", "1; fence;\n").replace("0;\n    wants", "0; fence;\n    wants");
    let fences = fences.replace("turn = 1 - me;", "turn = 1 - me; fence;");
    assert_eq!((code(&fences, "tso"), code(&fences, "pso")), (0, 0));
}

#[test]
fn the_report_formats_example_has_the_fields_and_values_that_are_printed() {
    let document = document("docs/report-format.md");
    let folder = folder("report_format");
    std::fs::write(folder.join("example.ut"), block(&document, "ut")).expect("the folder is writable");
    let run = run(&["check", "example.ut", "--json"], "", &folder);
    let timeless = |text: &str| {
        let mut object: Value = serde_json::from_str(text).expect("it is JSON");
        object["seconds"] = 0.0.into();
        object
    };
    assert_eq!(timeless(&run.out), timeless(block(&document, "json")));
}

#[test]
fn every_field_of_the_report_format_is_documented() {
    let document = document("docs/report-format.md");
    let object: Value = serde_json::from_str(block(&document, "json")).expect("it is JSON");
    let mut fields = BTreeSet::new();
    collect_fields(&object, &mut fields);
    let missing: Vec<_> = fields.iter().filter(|field| !document.contains(&format!("`{field}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

fn collect_fields(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (field, value) in object {
                fields.insert(field.clone());
                collect_fields(value, fields);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_fields(value, fields)),
        _ => {}
    }
}
