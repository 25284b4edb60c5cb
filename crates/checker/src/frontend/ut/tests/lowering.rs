//! What programs become.

use super::{parse, printed};
use crate::base::Source;
use expect_test::{Expect, expect};
use std::collections::BTreeMap;
use std::sync::Arc;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&printed(text));
}

#[test]
fn a_spin_loop_is_a_load_and_a_branch() {
    check(
        "shared flag; thread t { while flag == 0 {} }",
        expect![[r#"
        shared flag = 0
        t() loop 0..2
           0  %0 = load flag relaxed
           1  branch %0 == 0 ? 0 : 2
           2  end
        start t = t()
    "#]],
    );
}

#[test]
fn a_spin_loop_on_two_variables_reads_the_second_only_if_needed() {
    check(
        "shared a[2], turn; thread t(i) * 2 { while a[1 - i] == 1 && turn != i {} }",
        expect![[r#"
        shared a[0] = 0
        shared a[1] = 0
        shared turn = 0
        t(i) loop 0..4
           0  %1 = load a[1 - i] relaxed
           1  branch %1 == 1 ? 2 : 4
           2  %2 = load turn relaxed
           3  branch %2 != i ? 0 : 4
           4  end
        start t[0] = t(0)
        start t[1] = t(1)
    "#]],
    );
}

#[test]
fn a_test_and_set_loop_is_a_swap_and_a_branch() {
    check(
        "shared busy; thread t { while busy.swap(1, acquire) == 1 {} busy.store(0, release); }",
        expect![[r#"
        shared busy = 0
        t() loop 0..2
           0  %0 = swap busy 1 acquire
           1  branch %0 == 1 ? 0 : 2
           2  store busy 0 release
           3  end
        start t = t()
    "#]],
    );
}

#[test]
fn a_compare_exchange_has_an_ordering_for_when_it_fails() {
    for (written, orderings) in [
        ("", "seqcst seqcst"),
        (", relaxed", "relaxed relaxed"),
        (", acquire", "acquire acquire"),
        (", release", "release relaxed"),
        (", acqrel", "acqrel acquire"),
        (", relaxed, seqcst", "relaxed seqcst"),
        (", acqrel, relaxed", "acqrel relaxed"),
    ] {
        let program = printed(&format!("shared x; thread t {{ x.cas(0, 1{written}); }}"));
        assert!(program.contains(&format!("cas x 0 1 {orderings}\n")), "{written}: {program}");
    }
}

#[test]
fn a_cas_loop_compares_with_what_was_read() {
    check(
        "shared x; thread t { loop { let old = x; if x.cas(old, old + 1) { break; } } }",
        expect![[r#"
        shared x = 0
        t() loop 0..3
           0  old = load x relaxed
           1  %1 = cas x old old + 1 seqcst seqcst
           2  branch %1 == old ? 3 : 0
           3  end
        start t = t()
    "#]],
    );
}

#[test]
fn operations_of_one_instruction_set_the_variable_directly() {
    check(
        "shared x; mutex m; struct S { f } thread t {
            let a = x; let b = x.fetch_add(1); let c = x.compare_exchange(1, 2); let d = try_lock(m);
            let e = choose(0..a); let f = new S; a = f.f;
        }",
        expect![[r#"
            shared x = 0
            t()
               0  a = load x relaxed
               1  b = fetch_add x 1 seqcst
               2  c = cas x 1 2 seqcst seqcst
               3  d = try_lock m
               4  e = choose 0..a
               5  f = alloc 1
               6  a = load *(f + 0) relaxed
               7  end
            start t = t()
        "#]],
    );
}

#[test]
fn branches_on_constants_vanish() {
    check(
        "const CHECK = 0; shared x; thread t { if CHECK == 1 { x = 1; } else { x = 2; } while CHECK { x = 3; } \
         assert(CHECK == 0); if !CHECK && x == 2 { x = 4; } }",
        expect![[r#"
            shared x = 0
            t()
               0  store x 2 relaxed
               1  %0 = load x relaxed
               2  branch %0 == 2 ? 3 : 4
               3  store x 4 relaxed
               4  end
            start t = t()
        "#]],
    );
}

#[test]
fn constants_can_be_set_from_outside() {
    let source = Arc::new(Source::new("dir/p.ut", "const N = 1; const M = N + 1; shared a[M] = M; thread t(i) * N {}"));
    let program = parse(source, &BTreeMap::from([("N".to_string(), 2)])).unwrap();
    assert_eq!(program.name, "p");
    assert_eq!(program.cells.len(), 3);
    assert_eq!(program.cells[2].initial, 3);
    assert_eq!(program.initial[1].name, "t[1]");
}

#[test]
fn a_constant_index_is_a_cell() {
    check(
        "shared a[2] = [7, 8]; thread t { a[1] = a[0]; a[2] = 1; let r = a[a[0]]; }",
        expect![[r#"
        shared a[0] = 7
        shared a[1] = 8
        t()
           0  %0 = load a[0] relaxed
           1  store a[1] %0 relaxed
           2  store a[2] 1 relaxed
           3  %0 = load a[0] relaxed
           4  r = load a[%0] relaxed
           5  end
        start t = t()
    "#]],
    );
}

#[test]
fn compound_assignment_is_a_load_and_a_store() {
    check(
        "shared a[2]; thread t(i) * 1 { a[i] += 2; let r = 1; r <<= 3; }",
        expect![[r#"
        shared a[0] = 0
        shared a[1] = 0
        t(i)
           0  %1 = load a[i] relaxed
           1  store a[i] %1 + 2 relaxed
           2  r = 1
           3  r = r << 3
           4  end
        start t[0] = t(0)
    "#]],
    );
}

#[test]
fn functions_are_expanded_without_copies_of_simple_arguments() {
    check(
        "shared flag[2]; fn raised(i) { return flag[i] == 1; } fn raise(i) { flag[i] = 1; }
         thread t(me) * 2 { raise(me); while raised(1 - me) {} if raised(0) { raise(1); } }",
        expect![[r#"
            shared flag[0] = 0
            shared flag[1] = 0
            t(me) loop 1..4
               0  store flag[me] 1 relaxed
               1  i = 1 - me
               2  %2 = load flag[i] relaxed
               3  branch %2 == 1 ? 1 : 4
               4  %2 = load flag[0] relaxed
               5  branch %2 == 1 ? 6 : 7
               6  store flag[1] 1 relaxed
               7  end
            start t[0] = t(0)
            start t[1] = t(1)
        "#]],
    );
}

#[test]
fn functions_with_several_returns_jump_to_their_end() {
    check(
        "shared x; fn find(n) { for i in 0..n { if x == i { return i; } } return 0 - 1; }
         thread t { let r = find(3); let s = find(4) + find(r); }",
        expect![[r#"
            shared x = 0
            t() loop 1..8 loop 10..17 loop 20..27
               0  i = 0
               1  branch i < 3 ? 2 : 8
               2  %2 = load x relaxed
               3  branch %2 == i ? 4 : 6
               4  r = i
               5  jump 9
               6  i = i + 1
               7  jump 1
               8  r = -1
               9  i = 0
              10  branch i < 4 ? 11 : 17
              11  %4 = load x relaxed
              12  branch %4 == i ? 13 : 15
              13  %2 = i
              14  jump 18
              15  i = i + 1
              16  jump 10
              17  %2 = -1
              18  i = 0
              19  %5 = r
              20  branch i < %5 ? 21 : 27
              21  %6 = load x relaxed
              22  branch %6 == i ? 23 : 25
              23  %4 = i
              24  jump 28
              25  i = i + 1
              26  jump 20
              27  %4 = -1
              28  s = %2 + %4
              29  end
            start t = t()
        "#]],
    );
}

#[test]
fn a_parameter_that_is_assigned_is_a_copy() {
    check(
        "fn f(a) { a += 1; return a; } thread t { let r = 1; let s = f(r) + f(s0()); } fn s0() { return 5; }",
        expect![[r#"
            t()
               0  r = 1
               1  a = r
               2  a = a + 1
               3  %3 = a
               4  a = 5
               5  a = a + 1
               6  %4 = a
               7  s = %3 + %4
               8  end
            start t = t()
        "#]],
    );
}

#[test]
fn the_bound_of_a_for_loop_is_evaluated_once() {
    check(
        "shared n = 3; thread t { for i in 0..n { if i == 1 { continue; } n = i; } }",
        expect![[r#"
            shared n = 3
            t() loop 2..7
               0  i = 0
               1  %1 = load n relaxed
               2  branch i < %1 ? 3 : 7
               3  branch i == 1 ? 5 : 4
               4  store n i relaxed
               5  i = i + 1
               6  jump 2
               7  end
            start t = t()
        "#]],
    );
}

#[test]
fn variables_of_one_name_in_different_blocks_share_a_register() {
    check(
        "shared x; thread t { if x { let r = 1; } else { let r = 2; } } exists (t.r == 2);",
        expect![[r#"
        shared x = 0
        t() observed r
           0  %0 = load x relaxed
           1  branch %0 ? 2 : 4
           2  r = 1
           3  jump 5
           4  r = 2
           5  end
        start t = t()
        exists t.r == 2
    "#]],
    );
}

#[test]
fn shadowing_keeps_the_outer_variable() {
    check(
        "thread t { let r = 1; { let r = r + 1; r = 5; } r = r + 2; }",
        expect![[r#"
        t()
           0  r%0 = 1
           1  r%1 = r%0 + 1
           2  r%1 = 5
           3  r%0 = r%0 + 2
           4  end
        start t = t()
    "#]],
    );
}

#[test]
fn fields_are_offsets_and_new_stores_in_order() {
    check(
        "struct Node { plain value, next } shared head = null;
         thread t { let n = new Node { value: 3, next: head }; head = n; let v = head.next.value; n.next.cas(null, n); free(n); }",
        expect![[r#"
            shared head = 0
            t()
               0  %1 = load head relaxed
               1  n = alloc 2
               2  store *(n + 0) plain 3 relaxed
               3  store *(n + 1) %1 relaxed
               4  store head n relaxed
               5  %1 = load head relaxed
               6  %3 = load *(%1 + 1) relaxed
               7  v = load *(%3 + 0) plain relaxed
               8  %1 = cas *(n + 1) 0 n seqcst seqcst
               9  free n
              10  end
            start t = t()
        "#]],
    );
}

#[test]
fn locks_and_condition_variables() {
    check(
        "mutex m, ms[3]; rwlock l; condvar c;
         thread t(i) * 1 { lock(m); wait(c, m); notify(c); notify_all(c); unlock(m); lock(ms[i]);
            read_lock(l); read_unlock(l); write_lock(l); write_unlock(l);
            if try_read_lock(l) && try_write_lock(l) { yield; } }",
        expect![[r#"
            t(i)
               0  lock m
               1  wait c m
               2  notify c
               3  notify_all c
               4  unlock m
               5  lock ms[i]
               6  lock l shared
               7  unlock l shared
               8  lock l
               9  unlock l
              10  %1 = try_lock l shared
              11  branch %1 ? 12 : 15
              12  %2 = try_lock l
              13  branch %2 ? 14 : 15
              14  yield
              15  end
            start t[0] = t(0)
        "#]],
    );
}

#[test]
fn main_forks_and_joins() {
    check(
        "shared x; thread w(i) { x.fetch_add(i, relaxed); }
         main { let a = fork w(1); fork w(2); join a; } finally { assert(x >= 1, \"lost\"); }",
        expect![[r#"
            shared x = 0
            w(i)
               0  fetch_add x i relaxed
               1  end
            main()
               0  a = fork w(1)
               1  fork w(2)
               2  join a
               3  end
            finally()
               0  %0 = load x relaxed
               1  assert %0 >= 1 "lost"
               2  end
            start main = main()
        "#]],
    );
}

#[test]
fn orderings_and_fences() {
    check(
        "shared x; thread t { x.store(1, release); let r = x.load(acquire); fence; fence(acqrel); \
         x.fetch_xor(1, acqrel); x.store(x.load(seqcst), seqcst); assume(r); panic(\"no\"); }",
        expect![[r#"
            shared x = 0
            t()
               0  store x 1 release
               1  r = load x acquire
               2  fence seqcst
               3  fence acqrel
               4  fetch_xor x 1 acqrel
               5  %1 = load x seqcst
               6  store x %1 seqcst
               7  assume r
               8  panic "no"
               9  end
            start t = t()
        "#]],
    );
}

#[test]
fn conditions_name_variables_elements_and_locals() {
    check(
        "const K = 1; shared x, a[2]; thread t1 { let r = x; } thread w(i) * 2 { let r = a[i]; }
         exists (t1.r == 0 && w[K].r == 1 && x == K || !(a[1] == 0)); forbidden (w[0].i != 0); always (true);",
        expect![[r#"
            shared x = 0
            shared a[0] = 0
            shared a[1] = 0
            t1() observed r
               0  r = load x relaxed
               1  end
            w(i) observed r, i
               0  r = load a[i] relaxed
               1  end
            start t1 = t1()
            start w[0] = w(0)
            start w[1] = w(1)
            exists (((t1.r == 0) && (w[1].r == 1)) && (x == 1)) || !(a[1] == 0)
            forbidden w[0].i != 0
            always 1
        "#]],
    );
}

#[test]
fn short_circuit_is_control_flow_only_where_it_matters() {
    check(
        "shared x; thread t { let a = 1; let b = 2; let c = a && b; let d = a && x; let e = a || 1 / b; }",
        expect![[r#"
            shared x = 0
            t()
               0  a = 1
               1  b = 2
               2  c = a && b
               3  branch a ? 4 : 8
               4  %4 = load x relaxed
               5  branch %4 ? 6 : 8
               6  d = 1
               7  jump 9
               8  d = 0
               9  branch a ? 11 : 10
              10  branch 1 / b ? 11 : 13
              11  e = 1
              12  jump 14
              13  e = 0
              14  end
            start t = t()
        "#]],
    );
}

#[test]
fn spans_point_at_the_source() {
    let text = "shared x, y; thread t { if x == 1 { y = x + 2; } }";
    let program = super::program(text).unwrap();
    let spans = program.routines[0].spans.iter();
    let texts: Vec<&str> = spans.map(|span| &text[span.start as usize..span.end as usize]).collect();
    expect![[r#"
        [
            "x",
            "x == 1",
            "x",
            "y = x + 2;",
            "}",
        ]
    "#]]
    .assert_debug_eq(&texts);
}

#[test]
fn return_ends_a_thread() {
    check(
        "shared x; thread t { if x { return; } x = 1; }",
        expect![[r#"
        shared x = 0
        t()
           0  %0 = load x relaxed
           1  branch %0 ? 3 : 2
           2  store x 1 relaxed
           3  end
        start t = t()
    "#]],
    );
}

#[test]
fn nested_loops_are_recorded_outermost_first() {
    check(
        "shared x, y; fn spin() { while x == 0 {} } thread t { loop { spin(); for i in 0..2 { y = i; } if y { break; } } }",
        expect![[r#"
            shared x = 0
            shared y = 0
            t() loop 0..9 loop 0..2 loop 3..7
               0  %0 = load x relaxed
               1  branch %0 == 0 ? 0 : 2
               2  i = 0
               3  branch i < 2 ? 4 : 7
               4  store y i relaxed
               5  i = i + 1
               6  jump 3
               7  %0 = load y relaxed
               8  branch %0 ? 9 : 0
               9  end
            start t = t()
        "#]],
    );
}
