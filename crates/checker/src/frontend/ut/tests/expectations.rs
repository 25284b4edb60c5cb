//! Header comments.

use super::rendered;
use crate::frontend::ut::expectations;
use expect_test::expect;

#[test]
fn a_line_gives_an_expectation_for_each_memory_model() {
    let text = "//! A program.\n//! expect sc: verified, finals 3, exists no\n//! expect tso pso -D N=2 -D M=-1: violation data-race, values 4\n";
    let expected = expectations(text).unwrap();
    let short: Vec<String> = expected
        .iter()
        .map(|e| {
            let counts = (e.values, e.finals, e.exists);
            format!("{:?} {:?} {:?} {:?} {counts:?}", e.memory, e.defines, e.verdict, e.violation)
        })
        .collect();
    expect![[r#"
        Sc {} Verified None (None, Some(3), Some(false))
        Tso {"M": -1, "N": 2} Violation Some("data-race") (Some(4), None, None)
        Pso {"M": -1, "N": 2} Violation Some("data-race") (Some(4), None, None)"#]]
    .assert_eq(&short.join("\n"));
}

#[test]
fn mistakes_in_expectations_are_diagnostics() {
    let text = "//! expect\n//! expect sc verified\n//! expect arm: verified\n//! expect sc -D N: verified\n\
                //! expect sc: fine\n//! expect sc: verified, finals many\n//! expect sc: verified, colour 3\n\
                //! expect : verified\n//! expect sc: verified, exists maybe\n//! expect sc: verified,\n";
    expect![[r#"
        2:1 an expectation needs a `:` before the verdict
            "//! expect sc verified": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        3:1 `arm` is not a memory model; there are sc, tso, pso, cpp20, rc11 and rust, which is cpp20
            "//! expect arm: verified": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        4:1 `-D N` is not of the form `-D N=2`
            "//! expect sc -D N: verified": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        5:1 `fine` is none of verified, violation, inconclusive
            "//! expect sc: fine": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        6:1 `many` is not a number
            "//! expect sc: verified, finals many": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        7:1 `colour` is none of exists, values, finals
            "//! expect sc: verified, colour 3": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        8:1 no memory model is named
            "//! expect : verified": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        9:1 `exists` is `yes` or `no`, not `maybe`
            "//! expect sc: verified, exists maybe": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
        10:1 `` is not a name and a value
            "//! expect sc: verified,": cannot be understood; write for example `//! expect tso pso -D N=2: violation assertion, finals 4`
    "#]].assert_eq(&rendered(text, &expectations(text).unwrap_err()));
}
