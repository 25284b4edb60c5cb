//! What is said about programs that are wrong.

use super::{parse, program, rendered};
use crate::base::Source;
use expect_test::{Expect, expect};
use std::collections::BTreeMap;
use std::sync::Arc;

fn check(text: &str, expected: Expect) {
    let diagnostics = program(text).expect_err("the program is wrong");
    expected.assert_eq(&rendered(text, &diagnostics));
}

/// Statements inside of a thread that knows a few names.
fn check_body(body: &str, expected: Expect) {
    let prelude = "const N = 2; shared count, a[2]; plain p; mutex m, ms[2]; rwlock l; condvar c; struct Node { next }\n\
                   fn add(x, y) { return x + y; } fn nothing() {}\n\
                   thread w(i) {} thread t { let r = 0; fork w(1);\n";
    check(&format!("{prelude}{body}\n}}"), expected);
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    check_body(
        "cuont = 1; let x = zzzz; ad(1, 2); r.nxt = 1; let q = new Nod; fork ww(1); count.fetch_ad(1);",
        expect![[r#"
            4:1 unknown variable `cuont`
                "cuont": not declared; did you mean `count`?
            4:20 unknown variable `zzzz`
                "zzzz": not declared; declare it: `shared zzzz = 0;` for all threads, or `let zzzz = 0;` for this one
            4:26 unknown function `ad`
                "ad": not declared; did you mean `add`?
            4:38 no struct has a field `nxt`
                "nxt": unknown field; did you mean `next`?
            4:59 unknown struct `Nod`
                "Nod": not a struct; did you mean `Node`?
            4:69 unknown thread `ww`
                "ww": not a thread to start; did you mean `w`?
            4:82 unknown operation `fetch_ad`
                "fetch_ad": not an operation; did you mean `fetch_add`?
        "#]],
    );
}

#[test]
fn operators_of_other_languages_are_named() {
    check_body(
        "let q = r ? 1 : 2;\nr->next = 1;\nif r and count { }\nfor (let i = 0; i < 3; i++) { zz = 1; }",
        expect![[r#"
            4:11 there is no `?` operator
                "?": not an operator; use `if` and `else`
            5:2 there is no `->` operator
                "->": not an operator; a dot follows pointers, too: `p.next`
            6:6 there is no `and` operator
                "and": not an operator; write `&&`
            7:5 expected the loop variable's name, found `(`
                "(": expected the loop variable's name; loops count like this: `for i in 0..n { … }`
        "#]],
    );
}

#[test]
fn what_cannot_be_read_is_one_mistake() {
    check(
        "shared x; thread t { assert(x == 1, \"oops); }",
        expect![[r#"
        1:37 this text has no closing quote
            "\"": opened here; close it with `"` on the same line
    "#]],
    );
    check(
        "shared x; thread t { /* x = 1; }",
        expect![[r#"
        1:22 this comment never ends
            "/*": opened here; close it with `*/`
    "#]],
    );
    check(
        "shared x;\nthread t { x = 1 # 2; }\nthread u { x = ; }",
        expect![[r##"
        2:18 `#` means nothing here
            "#": unknown character; remove it
        3:16 expected an expression, found `;`
            ";": expected an expression; a number, a variable, a call or `( … )` can stand here
    "##]],
    );
}

#[test]
fn a_missing_semicolon_is_reported_where_it_belongs() {
    check_body(
        "count = 1\nr = 2;\nlet s = 3\nyield\nlock(m)",
        expect![[r#"
        4:10 expected `;` after the statement
            "": `;` is missing here; found `r` instead; end the statement with `;`
        6:10 expected `;` after the declaration
            "": `;` is missing here; found the keyword `yield` instead; end the declaration with `;`
        7:6 expected `;` after `yield`
            "": `;` is missing here; found `lock` instead; end `yield` with `;`
        8:8 expected `;` after the statement
            "": `;` is missing here; found `}` instead; end the statement with `;`
    "#]],
    );
    check(
        "shared x = 0\nthread t {}",
        expect![[r#"
        1:13 expected `;` after the declaration
            "": `;` is missing here; found the keyword `thread` instead; end the declaration with `;`
    "#]],
    );
}

#[test]
fn assignment_in_a_condition() {
    check_body(
        "if count = 1 { r = 2; } while (r = 1) {}",
        expect![[r#"
        4:10 this is an assignment in a condition
            "=": assigns, does not compare; write `==` to compare
        4:34 this is an assignment in a condition
            "=": assigns, does not compare; write `==` to compare
    "#]],
    );
}

#[test]
fn locks_are_not_variables() {
    check_body(
        "let x = m; m = 1; m.lock(); lock(count); lock(r); lock(zz); let y = l + c; count[0] = 1;",
        expect![[r#"
            4:9 `m` is a mutex, not a value
                "m": a mutex; mutexes are taken and released: `lock(m); unlock(m);`
            4:12 `m` is a mutex, not a value
                "m": a mutex; mutexes are taken and released: `lock(m); unlock(m);`
            4:21 `m` is a mutex, not a variable
                "lock": not an operation of it; locks are used through functions, such as `lock(m)`
            4:34 `count` is a shared variable, not a mutex
                "count": not a mutex; a mutex is declared with `mutex`
            4:47 this is not a mutex
                "r": not a mutex; declare it: `mutex r;`
            4:56 this is not a mutex
                "zz": not a mutex; declare it: `mutex zz;`
            4:69 `l` is a read-write lock, not a value
                "l": a read-write lock; it is taken with `read_lock(l)` or `write_lock(l)`
            4:73 `c` is a condition variable, not a value
                "c": a condition variable; it is used as `wait(c, m)` and `notify(c)`
            4:76 `count`, a shared variable, is not an array
                "count": cannot be indexed; arrays are declared like this: `shared a[3] = 0;`
        "#]],
    );
}

#[test]
fn each_lock_has_its_own_functions() {
    check_body(
        "lock(l); unlock(l); read_lock(m); write_unlock(m); try_lock(l); try_read_lock(m); wait(m, c); lock(ms); lock(m[1]); notify(m);",
        expect![[r#"
            4:6 `l` is a read-write lock, not a mutex
                "l": a read-write lock; write `write_lock(l)` or `read_lock(l)`
            4:17 `l` is a read-write lock, not a mutex
                "l": a read-write lock; write `write_unlock(l)` or `read_unlock(l)`
            4:31 `m` is a mutex, not a read-write lock
                "m": a mutex; write `lock(m)`
            4:48 `m` is a mutex, not a read-write lock
                "m": a mutex; write `unlock(m)`
            4:61 `l` is a read-write lock, not a mutex
                "l": a read-write lock; write `try_write_lock(l)` or `try_read_lock(l)`
            4:79 `m` is a mutex, not a read-write lock
                "m": a mutex; write `try_lock(m)`
            4:88 `m` is a mutex, not a condition variable
                "m": a mutex; `wait` needs a condition variable
            4:91 `c` is a condition variable, not a mutex
                "c": a condition variable; `wait` needs a mutex
            4:100 `ms` is an array
                "ms": which of them?; choose one: `ms[0]`
            4:112 `m` is not an array
                "1": no index belongs here; write `m` alone
            4:124 `m` is a mutex, not a condition variable
                "m": a mutex; `notify` needs a condition variable
        "#]],
    );
}

#[test]
fn wrong_numbers_of_arguments() {
    check_body(
        "lock(); lock(m, m); add(1); add(1, 2, 3); fork w(); fork t(1); count.cas(1); count.load(1, 2); panic(1, 2); wait(c);",
        expect![[r#"
            4:1 `lock` is given no arguments
                "lock()": wrong number of arguments; write `lock(m)`
            4:9 `lock` is given 2 arguments
                "lock(m, m)": wrong number of arguments; write `lock(m)`
            4:21 `add` is given 1 argument
                "add(1)": wrong number of arguments; write `add(x, y)`
            4:29 `add` is given 3 arguments
                "add(1, 2, 3)": wrong number of arguments; write `add(x, y)`
            4:43 `w` is given no arguments
                "fork w()": wrong number of arguments; write `fork w(i)`
            4:53 `t` is given 1 argument
                "fork t(1)": wrong number of arguments; write `fork t()`
            4:64 `cas` is given 1 argument
                "count.cas(1)": wrong number of arguments; write `x.cas(old, new)`, with one or two orderings at the end if you like
            4:78 `load` is given 2 arguments
                "count.load(1, 2)": wrong number of arguments; write `x.load()`, with an ordering at the end if you like
            4:96 `panic` is given 2 arguments
                "panic(1, 2)": wrong number of arguments; write `panic("message")`
            4:109 `wait` is given 1 argument
                "wait(c)": wrong number of arguments; write `wait(c, m)`
        "#]],
    );
}

#[test]
fn orderings_must_make_sense() {
    check_body(
        "let x = count.load(release); count.store(1, acquire); fence(relaxed); fence(full); count.swap(1, SeqCst); \
         count.fetch_add(1, acq_rel); count.load(3); p.fetch_add(1); p.store(1, release);",
        expect![[r#"
            4:20 a load cannot be release
                "release": makes no sense here; write relaxed, acquire, seqcst
            4:45 a store cannot be acquire
                "acquire": makes no sense here; write relaxed, release, seqcst
            4:61 a relaxed fence does nothing
                "relaxed": not an ordering for a fence; write acquire, release, acqrel or seqcst
            4:77 unknown ordering `full`
                "full": not an ordering; the orderings are relaxed, acquire, release, acqrel, seqcst
            4:98 unknown ordering `SeqCst`
                "SeqCst": not an ordering; write `seqcst`
            4:126 unknown ordering `acq_rel`
                "acq_rel": not an ordering; write `acqrel`
            4:147 an ordering is expected here
                "3": not an ordering; write relaxed, acquire, seqcst
            4:151 an atomic operation on plain data
                "p.fetch_add(1)": declared as `plain`; declare it as `shared` (a field: without `plain`), or read and assign it directly
            4:167 an atomic operation on plain data
                "p.store(1, release)": declared as `plain`; declare it as `shared` (a field: without `plain`), or read and assign it directly
        "#]],
    );
}

#[test]
fn a_compare_exchange_that_fails_cannot_release() {
    check_body(
        "count.cas(0, 1, release, release); count.compare_exchange(0, 1, acqrel, acqrel); count.cas(0, 1, acqrel, acquire); \
         count.swap(1, seqcst, seqcst);",
        expect![[r#"
            4:26 a cas that fails cannot be release
                "release": makes no sense here; write relaxed, acquire, seqcst
            4:73 a compare_exchange that fails cannot be acqrel
                "acqrel": makes no sense here; write relaxed, acquire, seqcst
            4:116 `swap` is given 3 arguments
                "count.swap(1, seqcst, seqcst)": wrong number of arguments; write `x.swap(value)`, with an ordering at the end if you like
        "#]],
    );
}

#[test]
fn loops_and_returns_in_the_wrong_place() {
    check_body(
        "break; continue; return 3; for i in 0..2 { i = 3; } for (;;) {} for i in 0..=3 {}",
        expect![[r#"
            4:57 expected the loop variable's name, found `(`
                "(": expected the loop variable's name; loops count like this: `for i in 0..n { … }`
            4:75 expected `..`, found `..=`
                "..=": expected `..`; ranges exclude their end: write `a..b + 1`
        "#]],
    );
    check_body(
        "break; continue; return 3; for i in 0..2 { i = 3; }",
        expect![[r#"
        4:1 `break` outside of a loop
            "break;": no loop here; use `return` to leave a function or to end a thread
        4:8 `continue` outside of a loop
            "continue;": no loop here; use `return` to leave a function or to end a thread
        4:25 a thread returns nothing
            "3": nobody could receive this; store it in a shared variable, or declare a local variable and ask for it in a condition
        4:44 the loop variable `i` cannot be assigned
            "i": counts the iterations; copy it, `let j = i;`, or use `while`
    "#]],
    );
    check(
        "fn f() { break; } fn g(x) { if x { return; } return 1; } thread t { while 1 { f(); } g(1); }",
        expect![[r#"
        1:10 `break` outside of a loop
            "break;": no loop here; use `return` to leave a function or to end a thread
        1:36 this `return` has no value, but another one of the function has
            "return;": a value is missing; write `return 0;`
    "#]],
    );
}

#[test]
fn constants_and_other_things_cannot_be_assigned() {
    check_body(
        "N = 3; N.fetch_add(1); a = 1; add = 1; t = 2; 3 = 4; add(1, 2) = 3; r.swap(1); r[0] = 1; N[1] = 2;",
        expect![[r#"
            4:1 the constant `N` cannot be changed
                "N": a constant; declare it as `shared N = …;` instead of `const`
            4:8 the constant `N` cannot be changed
                "N": a constant; declare it as `shared N = …;` instead of `const`
            4:24 `a` is an array, not a value
                "a": an array; choose an element: `a[0]`
            4:31 `add` is a function, not a value
                "add": a function; call it: `add(…)`
            4:40 `t` is a thread, not a value
                "t": a thread; `fork t(…)` starts one; its variables can be asked for in conditions only
            4:47 this is not a variable
                "3": cannot be assigned; variables `x`, elements `a[i]` and fields `p.next` can
            4:54 this is not a variable
                "add(1, 2)": cannot be assigned; variables `x`, elements `a[i]` and fields `p.next` can
            4:69 `r` is a local variable
                "r": not shared; atomic operations are for shared variables; read and assign local ones directly
            4:80 the local variable `r` is not an array
                "r": cannot be indexed; arrays are declared like this: `shared a[3] = 0;`
            4:90 `N`, a constant, is not an array
                "N": cannot be indexed; arrays are declared like this: `shared a[3] = 0;`
        "#]],
    );
}

#[test]
fn values_must_be_values() {
    check_body(
        "let x = lock(m); let y = nothing(); let z = add; let n = Node; let s = \"text\"; let k = count.store(1); w(1); \
         count == 1; r; assert(r, 1); choose(3); let v = count();",
        expect![[r#"
            4:9 `lock` has no value
                "lock(m)": nothing to use here; make it a statement: `lock(m);`
            4:26 `nothing` returns nothing
                "nothing()": has no value; write `return value;` in the function
            4:45 `add` is a function, not a value
                "add": a function; call it: `add(…)`
            4:58 `Node` is a struct, not a value
                "Node": a struct; `new Node` makes one
            4:72 a text is not a value
                "\"text\"": not a number; texts are messages: `assert(x == 1, "lost")`
            4:88 `store` has no value
                "count.store(1)": nothing to use here; make it a statement, or use `swap` for the old value
            4:104 `w` is a thread, not a function
                "w": cannot be called; start it with `fork w(…)`
            4:110 this statement does nothing
                "count == 1": the value is not used; write `=` to assign
            4:122 this statement does nothing
                "r": the value is not used; to read it, write `let r = …;`
            4:135 the message must be a text
                "1": not a text; write it in quotes: `"lost update"`
            4:146 `choose` needs a range
                "3": not a range; write `choose(0..3)` for 0, 1 or 2
            4:158 `count` is a shared variable, not a function
                "count": cannot be called; functions are declared with `fn`
        "#]],
    );
}

#[test]
fn names_are_declared_once() {
    check(
        "shared x, x; const x = 1; fn lock() {} fn f(a, a) {} struct S { b, b } thread t {} thread t {} \
         main {} main {} finally {} finally {}",
        expect![[r#"
            1:8 `x` is declared twice
                "x": declared again; choose another name
            1:11 `x` is declared twice
                "x": declared again; choose another name
            1:30 `lock` is the name of a built-in function
                "lock": already taken; choose another name
            1:48 parameter `a` is declared twice
                "a": declared again; choose another name
            1:68 field `b` is declared twice
                "b": declared again; choose another name
            1:91 `t` is declared twice
                "t": declared again; choose another name
            1:109 there is already a `main`
                "{}": a second one; put everything into one block
            1:131 there is already a `finally`
                "{}": a second one; put everything into one block
        "#]],
    );
}

#[test]
fn fields_of_several_structs_agree() {
    check(
        "struct A { next, value } struct B { value, next } struct C { plain next } struct D {} thread t {}",
        expect![[r#"
            1:37 field `value` lies elsewhere in another struct
                "value": at another place, or plain in one and not in the other; pointers have no types: rename one of the fields, or give both the same place
            1:44 field `next` lies elsewhere in another struct
                "next": at another place, or plain in one and not in the other; pointers have no types: rename one of the fields, or give both the same place
            1:68 field `next` lies elsewhere in another struct
                "next": at another place, or plain in one and not in the other; pointers have no types: rename one of the fields, or give both the same place
            1:82 `D` has no fields, or too many
                "D": 0 fields; a struct has 1 to 255 fields
        "#]],
    );
    check_body(
        "let x = new Node { nxt: 1, value: 2 };",
        expect![[r#"
        4:20 `Node` has no field `nxt`
            "nxt": unknown field; did you mean `next`?
        4:28 `Node` has no field `value`
            "value": unknown field; its fields are next
    "#]],
    );
}

#[test]
fn constants_are_constant() {
    check(
        "shared x; const A = x; const B = C; const C = 1; const D = 1 / 0; const E = add(1); shared y = x, z[x], v[2] = [1], w = [1, 2];
         thread t(i) * x {}",
        expect![[r#"
            1:21 unknown constant `x`
                "x": not declared; declare it before it is used: `const x = 2;`
            1:34 unknown constant `C`
                "C": not declared; declare it before it is used: `const C = 2;`
            1:60 division by zero in a constant
                "1 / 0": the divisor is 0; choose constants such that the divisor is not 0
            1:77 this is not a constant
                "add(1)": known only when the program runs; use numbers, constants and operators
            1:96 `x` is not a constant
                "x": known only when the program runs; use numbers, constants and operators
            1:101 `x` is not a constant
                "x": known only when the program runs; use numbers, constants and operators
            1:112 `v` has 2 elements, but 1 values are given
                "[1]": 1 values; give as many values as elements, or one value for all: `= 0`
            1:121 `w` is not an array
                "[1, 2]": a list of values; write `w[2]` to declare an array
            2:24 `x` is not a constant
                "x": known only when the program runs; use numbers, constants and operators
        "#]],
    );
}

#[test]
fn overrides_of_unknown_constants_list_the_known_ones() {
    let overridden = |text: &str| {
        let source = Arc::new(Source::new("test.ut", text));
        rendered(text, &parse(source, &BTreeMap::from([("SIZ".to_string(), 1)])).unwrap_err())
    };
    expect![[r#"
        1:1 there is no constant `SIZ` to set
            "": not declared in this file; did you mean `SIZE`? the constants are SIZE, N
        1:1 there is no constant `SIZ` to set
            "": not declared in this file; the program declares no constants
    "#]]
    .assert_eq(&(overridden("const SIZE = 1; const N = 2; thread t {}") + &overridden("thread t {}")));
}

#[test]
fn something_must_run() {
    check(
        "shared x;",
        expect![[r#"
        1:1 there is no thread
            "": nothing would run; write `thread t1 { … }` or `main { … }`
    "#]],
    );
    check(
        "",
        expect![[r#"
        1:1 there is no thread
            "": nothing would run; write `thread t1 { … }` or `main { … }`
    "#]],
    );
    check(
        "thread t(i) {}",
        expect![[r#"
        1:8 nothing starts `t`
            "t": has parameters, but no number of threads; write `thread t(i) * 2 { … }`, or start it with `fork t(…)`
    "#]],
    );
    check(
        "thread t(i, j) * 2 {}",
        expect![[r#"
        1:13 `t` can have one parameter only
            "j": what would be its value?; the parameter of a counted thread is its number, from 0
    "#]],
    );
    check(
        "thread t(i) * 2 {} main {}",
        expect![[r#"
        1:15 a number of threads has no meaning when there is a `main`
            "2": only `main` starts by itself; remove it, and start the threads with `fork` in `main`
    "#]],
    );
    check(
        "thread t { fork main; fork t2(1); fork f(); } fn f() {}",
        expect![[r#"
        1:17 `main` runs by itself
            "main": not a thread to start; threads are declared with `thread name(parameters) { … }`
        1:28 unknown thread `t2`
            "t2": not a thread to start; did you mean `t`?
        1:40 `f` is a function, not a thread
            "f": not a thread to start; threads are declared with `thread name(parameters) { … }`
    "#]],
    );
}

#[test]
fn habits_from_other_languages() {
    check_body(
        "let mut s = 1; r++; if r r = 2; while count == 0; let p = &count;",
        expect![[r#"
        4:5 `mut` is not needed
            "mut": remove this; every local variable can be assigned
        4:17 there is no `++` operator
            "++": not an operator; write `+= 1`, or `fetch_add` for one atomic step
        4:26 expected `{`, found `r`
            "r": expected `{`; bodies stand in braces, also those of one statement or none: `{}`
        4:49 expected `{`, found `;`
            ";": expected `{`; bodies stand in braces, also those of one statement or none: `{}`
        4:59 there is no address-of and no dereference operator
            "&": not an operator here; pointers come from `new Node`, and `p.field` follows them
    "#]],
    );
    check_body(
        "let s: int = 1; assert r == 1; let q = *r; r = 1 < 2 < 3; else {}",
        expect![[r#"
        4:6 local variables have no types
            ":": no type belongs here; write the name alone; every value is a 64-bit integer
        4:24 expected `(`, found `r`
            "r": expected `(`; write `assert(…);`
        4:40 there is no address-of and no dereference operator
            "*": not an operator here; pointers come from `new Node`, and `p.field` follows them
        4:54 comparisons cannot be chained
            "<": a second comparison; write `a < b && b < c`, or use parentheses
        4:59 expected a statement, found the keyword `else`
            "else": expected a statement; `else` follows the `}` of an `if`
    "#]],
    );
    check(
        "int x = 0; static y; fn f(a: int) -> int { return a; } init { x = 1; } thread t {}",
        expect![[r#"
            1:1 expected a declaration, found `int`
                "int": expected a declaration; declare shared variables with `shared x = 0;`
            1:12 expected a declaration, found `static`
                "static": expected a declaration; declare shared variables with `shared x = 0;`
            1:28 parameters have no types
                ":": no type belongs here; write the name alone; every value is a 64-bit integer
            1:56 expected a declaration, found `init`
                "init": expected a declaration; give initial values where variables are declared: `shared x = 1;`
        "#]],
    );
    check(
        "shraed x; atomic y; tread t {}",
        expect![[r#"
            1:1 expected a declaration, found `shraed`
                "shraed": expected a declaration; did you mean `shared`?
            1:11 expected a declaration, found `atomic`
                "atomic": expected a declaration; declare shared variables with `shared x = 0;`
            1:21 expected a declaration, found `tread`
                "tread": expected a declaration; did you mean `thread`?
        "#]],
    );
    check(
        "struct S { a: int } mutex m = 0; shared let; thread 3 {} assert(x);",
        expect![[r#"
            1:13 fields have no types
                ":": no type belongs here; write the name alone; every value is a 64-bit integer
            1:29 locks and condition variables have no value
                "=": nothing to initialise; end the declaration with `;`
            1:41 expected the variable's name, found the keyword `let`
                "let": expected the variable's name; `let` is a keyword; choose another name
            1:53 expected the thread's name, found `3`
                "3": expected the thread's name; names start with a letter or `_`
            1:58 expected a declaration, found `assert`
                "assert": expected a declaration; state what must hold in the end with `finally { assert(…); }` or `always (…);`
        "#]],
    );
}

#[test]
fn blocks_must_be_closed() {
    check(
        "shared x; thread a { x = 1; thread b { x = 2; }",
        expect![[r#"
        1:29 expected `}` before the keyword `thread`
            "thread": the block should have ended here; declarations stand outside of threads and functions; close the block with `}`
    "#]],
    );
    check(
        "thread a { if 1 {",
        expect![[r#"
            1:18 expected `}` before the end of the file
                "": the block should have ended here; declarations stand outside of threads and functions; close the block with `}`
        "#]],
    );
    check(
        "thread a { let x = (1; let y = 2; } } thread b {}",
        expect![[r#"
        1:22 expected `)`, found `;`
            ";": expected `)`; close the parenthesis
        1:37 expected a declaration, found `}`
            "}": expected a declaration; a file consists of const, shared, plain, mutex, rwlock, condvar, struct, fn, thread, main, finally, exists, forbidden and always
    "#]],
    );
}

#[test]
fn what_cannot_be_read() {
    check(
        "thread t { let a = 12ab; let b = 99999999999999999999; let c = 1 $$ 2; panic(\"open); }",
        expect![[r#"
            1:20 `12ab` is not a number
                "12ab": not a 64-bit integer; write a decimal number such as 42 or a hexadecimal one such as 0x2a
            1:34 `99999999999999999999` is not a number
                "99999999999999999999": not a 64-bit integer; write a decimal number such as 42 or a hexadecimal one such as 0x2a
            1:66 `$$` means nothing here
                "$$": unknown character; remove it
            1:78 this text has no closing quote
                "\"": opened here; close it with `"` on the same line
        "#]],
    );
    check(
        "thread t { } /* never closed",
        expect![[r#"
        1:14 this comment never ends
            "/*": opened here; close it with `*/`
    "#]],
    );
}

#[test]
fn conditions_ask_for_what_is_there() {
    check(
        "shared x, a[2]; thread t { let r = 1; } thread w(i) * 2 {} \
         exists (r == 1); exists (t.s == 1); exists (w.i == 1); exists (w[2].i == 1); exists (a[2] == 0 || a == 1); \
         exists (x.next == 1); exists (tt.r == 0); exists (x.load() == 1); exists (a[x] == 1); exists (x = 1);",
        expect![[r#"
            1:263 this is an assignment in a condition
                "=": assigns, does not compare; write `==` to compare
        "#]],
    );
    check(
        "shared x, a[2]; thread t { let r = 1; } thread w(i) * 2 {} \
         exists (r == 1); exists (t.s == 1); exists (w.i == 1); exists (w[2].i == 1); exists (a[2] == 0 || a == 1); \
         exists (x.next == 1); exists (tt.r == 0); exists (x.load() == 1); exists (a[x] == 1);",
        expect![[r#"
            1:68 unknown variable `r`
                "r": not declared; a thread's variable is written with its thread: `t.r`
            1:87 `t` has no variable `s`
                "s": not declared there; declare it in the thread: `let s = …;`
            1:104 there is no thread `w` from the start
                "w": not a thread; name one of the threads: `w[0]`
            1:123 there is no thread `w[2]` from the start
                "w[2]": not a thread; name one of the threads: `w[0]`
            1:147 `a` has no element 2
                "2": out of bounds; the elements are `a[0]` to `a[1]`
            1:158 `a` is an array, not a value
                "a": an array; choose an element: `a[0]`
            1:175 there is no thread `x` from the start
                "x": not a thread; conditions cannot follow pointers; use `finally { assert(…); }`
            1:197 there is no thread `tt` from the start
                "tt": not a thread; did you mean `t`?
            1:217 this cannot stand in a condition
                "x.load()": not a final value; conditions ask for variables `x`, elements `a[0]` and locals `t1.r`; use `finally { … }` for more
            1:243 `x` is not a constant
                "x": known only when the program runs; use numbers, constants and operators
        "#]],
    );
    check(
        "thread w { let r = 1; } main { let h = fork w; } exists (w.r == 1);",
        expect![[r#"
        1:58 there is no thread `w` from the start
            "w": not a thread; conditions can ask for variables of `main` only; let the thread store them in shared variables
    "#]],
    );
}

#[test]
fn mistakes_in_functions_are_reported_once() {
    check(
        "fn f() { x = 1; } fn g() { y = 1; } thread t { f(); f(); }",
        expect![[r#"
        1:10 unknown variable `x`
            "x": not declared; declare it: `shared x = 0;` for all threads, or `let x = 0;` for this one
        1:28 unknown variable `y`
            "y": not declared; declare it: `shared y = 0;` for all threads, or `let y = 0;` for this one
    "#]],
    );
}
