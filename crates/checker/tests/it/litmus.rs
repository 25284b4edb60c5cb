//! What litmus instructions, C statements and conditions mean, seen from outside: a text goes in, final states come out.

use std::sync::Arc;

use expect_test::expect;
use unthread_checker::base::{Diagnostic, Source};
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::litmus::{Litmus, Outcome, SummaryLine, compare_text, herd_text, parse, summary_table};
use unthread_checker::program::{Access, Instr, Place};
use unthread_checker::search::{Options, StopReason, Unwatched, ViolationKind};

fn litmus(text: &str) -> Litmus {
    parse(Arc::new(Source::new("test.litmus", text))).unwrap_or_else(|diagnostics| panic!("{text}\n{diagnostics:#?}"))
}

fn outcome(litmus: &Litmus, memory: MemoryModel) -> Outcome {
    let options = Options { all_violations: true, ..Options::new(memory) };
    let report = check(&litmus.program, &options, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted);
    litmus.outcome(&report.final_states)
}

/// The final states of a test under SC, on one line.
fn states(text: &str) -> String {
    outcome(&litmus(text), MemoryModel::Sc).states().into_iter().collect::<Vec<_>>().join(" | ")
}

/// The one final state of a thread that runs these X86 instructions alone.
fn x86(init: &str, code: &str, locations: &str) -> String {
    states(&format!("X86 alone\n{{ {init} }}\nP0 ;\n{code} ;\nlocations [{locations}]"))
}

fn x86_64(init: &str, code: &str, locations: &str) -> String {
    states(&format!("X86_64 alone\n{{ {init} }}\nP0 ;\n{code} ;\nlocations [{locations}]"))
}

/// The one final state of a C thread.
fn c(init: &str, body: &str, locations: &str) -> String {
    states(&format!("C alone\n{{ {init} }}\nP0(atomic_int *x, int *y, int *a) {{ {body} }}\nlocations [{locations}]"))
}

/// What is wrong with a text: place and message of each mistake, one per line.
fn mistakes(text: &str) -> String {
    let source = Arc::new(Source::new("test.litmus", text));
    let diagnostics = parse(source.clone()).expect_err(text);
    let line = |diagnostic: &Diagnostic| {
        let at = source.line_column(diagnostic.span.start);
        format!("{}:{}: {}\n", at.line, at.column, diagnostic.message)
    };
    diagnostics.iter().map(line).collect()
}

#[test]
fn parts_of_a_register_alias_one_another() {
    assert_eq!(x86("0:EAX=0x11223344", "MOV AL,$1; MOV AH,$2", "0:EAX"), "0:EAX=287441409;");
    assert_eq!(x86("0:EAX=0x1234", "MOV BL,AH; MOV CX,AX", "0:EBX; 0:ECX"), "0:EBX=18; 0:ECX=4660;");
    // Writing 32 bits clears the upper half, writing 8 or 16 keeps everything else.
    let init = "uint64_t 0:rax=0xffffffffffffffff; uint64_t 0:rbx=0xffffffffffffffff";
    let after = x86_64(init, "movl $1,%eax; movw $2,%bx", "0:rax; 0:rbx");
    assert_eq!(after, "0:rax=1; 0:rbx=18446744073709486082;");
}

#[test]
fn memory_shows_values_of_its_declared_type() {
    assert_eq!(x86("", "MOV [x],$1; LOCK DEC [x]; DEC [x]", "x"), "[x]=-1;");
    assert_eq!(x86_64("uint8_t x", "movb $200,(x)", "x"), "[x]=200;");
    assert_eq!(x86_64("int8_t x", "movb $200,(x)", "x"), "[x]=-56;");
    assert_eq!(x86_64("uint64_t x", "movq $-1,(x)", "x"), "[x]=18446744073709551615;");
    assert_eq!(x86_64("", "movq $0x100000000,%rax; movq %rax,(x)", "x; 0:rax"), "0:rax=4294967296; [x]=4294967296;");
}

#[test]
fn extending_moves_extend() {
    let init = "int8_t x=-1; uint64_t 0:rax; int64_t 0:rbx; uint64_t 0:rcx";
    let after = x86_64(init, "movzbl (x),%eax; movsbq (x),%rbx; movsbl (x),%ecx", "0:rax; 0:rbx; 0:rcx");
    assert_eq!(after, "0:rax=255; 0:rbx=-1; 0:rcx=4294967295;");
}

#[test]
fn arithmetic_on_memory_and_registers() {
    assert_eq!(x86("x=12", "ADD [x],$5; SUB [x],$1; AND [x],$14; OR [x],$32; XOR [x],$1", "x"), "[x]=33;");
    let locked = "LOCK ADD [x],$5; LOCK SUB [x],$1; LOCK AND [x],$14; LOCK OR [x],$32; LOCK XOR [x],$1";
    assert_eq!(x86("x=12", locked, "x"), "[x]=33;");
    assert_eq!(x86("x=5", "NEG [x]; NOT [x]; LOCK NEG [x]; LOCK NOT [x]", "x"), "[x]=3;");
    assert_eq!(
        x86("0:EAX=7; 0:EBX=2", "SUB EAX,EBX; SHL EAX,2; SAR EAX; NEG EBX", "0:EAX; 0:EBX"),
        "0:EAX=10; 0:EBX=-2;"
    );
    assert_eq!(x86("0:EAX=-2", "SHR EAX,$31", "0:EAX"), "0:EAX=1;");
    assert_eq!(x86_64("0:rcx=3", "movl $1,%eax; shl %cl,%eax", "0:rax"), "0:rax=8;");
}

#[test]
fn operands_are_ordered_as_the_architecture_orders_them() {
    assert_eq!(x86("0:EAX=1; 0:EBX=2", "MOV EAX,EBX", "0:EAX; 0:EBX"), "0:EAX=2; 0:EBX=2;");
    assert_eq!(x86_64("0:rax=1; 0:rbx=2", "mov %eax,%ebx", "0:rax; 0:rbx"), "0:rax=1; 0:rbx=1;");
    assert_eq!(x86_64("0:rax=5", "subl $2,%eax", "0:rax"), "0:rax=3;");
}

#[test]
fn exchanges_swap_in_either_order() {
    for code in ["XCHG [x],EAX", "XCHG EAX,[x]", "LOCK XCHG [x],EAX", "UXCH [x],EAX"] {
        assert_eq!(x86("x=1; 0:EAX=2", code, "x; 0:EAX"), "0:EAX=1; [x]=2;", "{code}");
    }
    assert_eq!(x86("0:EAX=1; 0:EBX=2", "XCHG EAX,EBX", "0:EAX; 0:EBX"), "0:EAX=2; 0:EBX=1;");
    for code in ["xadd %eax,(x)", "lock xaddl %eax,(x)", "lock; xaddl %eax,(x)"] {
        assert_eq!(x86_64("x=3; 0:rax=4", code, "x; 0:rax"), "0:rax=3; [x]=7;", "{code}");
    }
}

#[test]
fn compare_exchange_compares_with_the_accumulator() {
    for code in ["cmpxchg (x),%ebx", "lock cmpxchgl (x),%ebx", "lock cmpxchgl %ebx,(x)"] {
        assert_eq!(x86_64("x=1; 0:rax=1; 0:rbx=9", code, "x; 0:rax"), "0:rax=1; [x]=9;", "{code}");
        assert_eq!(x86_64("x=2; 0:rax=1; 0:rbx=9", code, "x; 0:rax"), "0:rax=2; [x]=2;", "{code}");
    }
    assert_eq!(x86("x=-1; 0:EAX=-1; 0:EBX=9", "LOCK CMPXCHG [x],EBX; SETE CL", "x; 0:ECX"), "0:ECX=1; [x]=9;");
}

#[test]
fn bit_instructions_leave_the_old_bit_in_the_carry() {
    let code = "LOCK BTS [x],$1; SETC AL; BTR [x],$0; SETC BL; LOCK BTC [x],$4; SETC CL; BT [x],$1; SETC DL";
    assert_eq!(x86("x=1", code, "x; 0:EAX; 0:EBX; 0:ECX; 0:EDX"), "0:EAX=0; 0:EBX=1; 0:ECX=0; 0:EDX=1; [x]=18;");
}

#[test]
fn conditions_follow_the_comparison() {
    let holds = |left: i64, right: i64| {
        let codes = ["E", "NE", "L", "LE", "G", "GE", "B", "BE", "A", "AE"];
        let holding = codes.into_iter().filter(|code| {
            let jump = format!("CMP EAX,{right}; J{code} YES; JMP END; YES: MOV ECX,$1; END:");
            let set = format!("CMP EAX,{right}; SET{code} CL");
            let mov = format!("MOV EBX,$1; CMP EAX,{right}; CMOV{code} ECX,EBX");
            let results = [jump, set, mov].map(|text| x86(&format!("0:EAX={left}"), &text, "0:ECX"));
            assert!(results.iter().all(|result| *result == results[0]), "{code}: {results:?}");
            results[0] == "0:ECX=1;"
        });
        holding.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(holds(1, 1), "E LE GE BE AE");
    assert_eq!(holds(1, 2), "NE L LE B BE");
    assert_eq!(holds(2, 1), "NE G GE A AE");
    assert_eq!(holds(-1, 1), "NE L LE A AE");
}

#[test]
fn results_set_the_flags() {
    assert_eq!(x86("0:EAX=1", "DEC EAX; SETZ BL; DEC EAX; SETS CL", "0:EBX; 0:ECX"), "0:EBX=1; 0:ECX=1;");
    assert_eq!(x86("x=1", "LOCK DEC [x]; SETZ BL", "0:EBX"), "0:EBX=1;");
    assert_eq!(x86("0:EAX=6", "TEST EAX,$1; SETZ BL; TEST EAX,$2; SETNZ CL", "0:EBX; 0:ECX"), "0:EBX=1; 0:ECX=1;");
    // At the start they are clear.
    assert_eq!(x86("", "SETE AL; SETB BL; SETL CL", "0:EAX; 0:EBX; 0:ECX"), "0:EAX=0; 0:EBX=0; 0:ECX=0;");
    // NOT and MOV leave them alone.
    assert_eq!(x86("0:EAX=1", "CMP EAX,$1; NOT EAX; MOV EAX,$5; SETE BL", "0:EBX"), "0:EBX=1;");
}

#[test]
fn loops_count_down() {
    let code = "L: INC EAX; DEC ECX; JNZ L";
    assert_eq!(x86("0:ECX=5", code, "0:EAX; 0:ECX"), "0:EAX=5; 0:ECX=0;");
}

#[test]
fn addresses_reach_array_elements_and_what_pointers_point_to() {
    let init = "int64_t t[3]={5,6,7}; 0:rax=t; 0:rbx=1; int64_t 0:rcx; int64_t 0:rdx; int64_t 0:rsi";
    let code = "movq 8(%rax,%ebx,8),%rcx; movq t(,%rbx,8),%rdx; movq t+16(%rip),%rsi; movq $9,(%rax)";
    assert_eq!(x86_64(init, code, "0:rcx; 0:rdx; 0:rsi; t"), "0:rcx=7; 0:rdx=6; 0:rsi=7; t={9,6,7};");
    assert_eq!(x86("int a[2]={1,2}; 0:ECX=4", "MOV EAX,[a+4]; MOV EBX,[a+ECX]", "0:EAX; 0:EBX"), "0:EAX=2; 0:EBX=2;");
    assert_eq!(x86("p=y; y=4", "MOV EAX,[p]; MOV EBX,[EAX]; INC [EAX]", "0:EAX; 0:EBX; y"), "0:EAX=y; 0:EBX=4; [y]=5;");
    assert_eq!(x86("", "LEA EAX,[x]; MOV [EAX],$3; MOV [p],EAX", "x; p"), "[p]=x; [x]=3;");
    assert_eq!(x86_64("", "movl $x,%eax; movl $3,(%rax)", "x; 0:rax"), "0:rax=x; [x]=3;");
    assert_eq!(
        x86("int a[2]; int *p=&a[1]", "MOV EAX,[p]; MOV DWORD PTR [EAX],7", "a[0]; a[1]; p"),
        "a[0]=0; a[1]=7; [p]=a[1];"
    );
}

#[test]
fn initial_states_come_in_many_forms() {
    let text = "X86 init\n\"with (* odd *) parts\"\nCycle=Fre PodWR\nRelax=\n(* a comment *)\n{\n x=1; int y = -2; [z]=3;; volatile int w=4;\n\
        uint64_t v; P0:EAX=5; int 0:EBX=6; *q = x\n}\n P0 ;\n // nothing\n NOP ;\n\
        locations [x; y; [z]; w; v; q; 0:EAX; 0:EBX;]";
    assert_eq!(states(text), "0:EAX=5; 0:EBX=6; [q]=x; [v]=0; [w]=4; [x]=1; [y]=-2; [z]=3;");
}

#[test]
fn conditions_are_evaluated_as_herd_does() {
    let verdict = |condition: &str| {
        let text = format!("X86 one\n{{ x=1; y=2; p=x; int a[2]={{3,4}} }}\nP0 ;\nMOV EAX,$-1;\n{condition}");
        outcome(&litmus(&text), MemoryModel::Sc).verdict()
    };
    for condition in [
        "exists (x=1)",
        "forall x=1 /\\ [y]=2",
        "~exists x=2",
        "not exists (x=2)",
        "exists (not (x=2) /\\ ~x=3)",
        "(x=1)",
        "final x==1",
        "forall 0:EAX=-1",
        "forall 0:EAX=0xffffffff",
        "forall (p=x /\\ a={3,4} /\\ a[1]=4 /\\ a!={3,5})",
        "exists x!=y",
        "exists (x<2 /\\ x>=1)",
        "exists [x]=[x]",
        "exists x=1 \\/ x=2 /\\ false",
        // Implications bind more strongly than conjunctions.
        "forall true /\\ false => x=7",
        "exists x=1 with X86: exists",
    ] {
        assert_eq!(verdict(condition), "Ok", "{condition}");
    }
    for condition in ["exists x=2", "forall x=2", "~exists x=1", "exists (x=1 /\\ ~(x=1))", "exists [x]=[y]"] {
        assert_eq!(verdict(condition), "No", "{condition}");
    }
}

#[test]
fn a_filter_drops_states() {
    let text = "X86 SB\n{}\nP0 | P1 ;\nMOV [x],$1 | MOV [y],$1 ;\nMOV EAX,[y] | MOV EAX,[x] ;\n\
        filter (0:EAX=1)\nforall (1:EAX=0 \\/ 1:EAX=1)";
    assert_eq!(states(text), "1:EAX=0; | 1:EAX=1;");
    let filtered = text.replace("filter (0:EAX=1)\nforall (1:EAX=0 \\/ 1:EAX=1)", "filter (0:EAX=0)\nforall (1:EAX=1)");
    let litmus = litmus(&filtered);
    assert!(outcome(&litmus, MemoryModel::Sc).holds);
    assert!(!outcome(&litmus, MemoryModel::Tso).holds);
}

#[test]
fn c_statements_run() {
    assert_eq!(c("", "int r = 0; for (int i = 0; i < 4; i++) { if (i == 2) continue; r += i; }", "0:r"), "0:r=4;");
    assert_eq!(
        c("", "int r = 0; while (1) { r++; if (r > 2) break; } do r = r * 2; while (r < 10);", "0:r"),
        "0:r=12;"
    );
    assert_eq!(c("x=3", "int r0 = *x, r1; r1 = r0 ? r0 + 1 : 9; *y = -r1; (*y)++;", "0:r1; y"), "0:r1=4; [y]=-3;");
    assert_eq!(c("int a[3]={1,2,3}", "int r = a[1] + *(a + 2); a[0] = r; a[r - 4] += 1;", "a"), "a={5,3,3};");
    assert_eq!(
        c("", "unsigned char r = 255; r = r + 1; int s = 0x7fffffff; s++;", "0:r; 0:s"),
        "0:r=0; 0:s=-2147483648;"
    );
    assert_eq!(c("", "int r = !*x && (*y == 0) || 1 / 0; return; r = 7;", "0:r"), "0:r=1;");
    assert_eq!(c("", "int *p = y; *p = 2; int r = (int)*p << 1; r0 = r ^ 1;", "y; 0:r; 0:r0"), "0:r=4; 0:r0=5; [y]=2;");
}

#[test]
fn a_compare_exchange_keeps_both_orders() {
    let call = |orders: &str| {
        let text = format!(
            "C t\n{{}}\nP0(atomic_int *x) {{ int e = 1; atomic_compare_exchange_strong{orders}); }}\nexists (x=1)\n"
        );
        parse(Arc::new(Source::new("t.litmus", text))).map(|litmus| litmus.program.to_string())
    };
    for (orders, expected) in [
        ("(x, &e, 5", "seqcst seqcst"),
        ("_explicit(x, &e, 5, memory_order_acq_rel, memory_order_relaxed", "acqrel relaxed"),
        ("_explicit(x, &e, 5, memory_order_relaxed, memory_order_acquire", "relaxed acquire"),
        ("_explicit(x, &e, 5, memory_order_acq_rel", "acqrel acquire"),
    ] {
        let program = call(orders).unwrap();
        assert!(program.contains(&format!(" 5 {expected}\n")), "{orders}: {program}");
    }
    let error = call("_explicit(x, &e, 5, memory_order_release, memory_order_release").unwrap_err();
    assert!(error[0].message.contains("that fails cannot release"), "{error:?}");
}

#[test]
fn a_weak_compare_exchange_may_fail_once_without_reason() {
    let cas = "int e = 1; int r = atomic_compare_exchange_weak(x, &e, 5);";
    assert_eq!(c("x=1", cas, "0:e; 0:r; x"), "0:e=1; 0:r=0; [x]=1; | 0:e=1; 0:r=1; [x]=5;");
    assert_eq!(c("x=2", cas, "0:e; 0:r; x"), "0:e=2; 0:r=0; [x]=2;");
    let again = "int e = 1; int n = 0; while (!atomic_compare_exchange_weak(x, &e, 5)) { n++; e = 1; }";
    assert_eq!(c("x=1", again, "0:n; x"), "0:n=0; [x]=5; | 0:n=1; [x]=5;");
    let failing = "C t\n{}\nP0(atomic_int *x) { int e = 1; \
        atomic_compare_exchange_weak_explicit(x, &e, 5, memory_order_relaxed, memory_order_acquire); }\nexists (x=1)\n";
    let program = litmus(failing).program.to_string();
    assert!(program.contains("load x acquire") && program.contains(" 5 relaxed acquire"), "{program}");
}

/// Which cells are plain, and which accesses say so themselves.
fn plain(code: &str) -> (String, usize) {
    let litmus = litmus(&format!("C t\n{{ int a[2]; }}\nP0(int *x, int *y, int *a) {{ {code} }}\nexists (x=1)\n"));
    let cells = litmus.program.cells.iter().filter(|cell| cell.access == Access::Plain);
    let cells: Vec<_> = cells.map(|cell| cell.name.as_str()).collect();
    let is_plain = |instr: &&Instr| {
        let (Instr::Load { place, .. } | Instr::Store { place, .. }) = instr else { return false };
        matches!(place, Place::Deref { access: Access::Plain, .. })
    };
    (cells.join(" "), litmus.program.routines.iter().flat_map(|routine| &routine.code).filter(is_plain).count())
}

#[test]
fn accesses_in_c_say_whether_they_are_plain() {
    let shown = |code: &str| {
        let (cells, accesses) = plain(code);
        format!("{cells}; {accesses}")
    };
    assert_eq!(shown("atomic_store(x, 1); atomic_store(y, 1); WRITE_ONCE(a[0], READ_ONCE(a[1]));"), "; 0");
    assert_eq!(shown("*x = 1; atomic_store(y, 1); a[*x] = a[1];"), "a[0] a[1] x; 0");
    assert_eq!(shown("*x = 1; atomic_store(x, 1); int r = a[0]; WRITE_ONCE(a[1], *y);"), "a[0] y; 1");
    assert_eq!(shown("atomic_compare_exchange_strong(x, y, 1);"), "a[0] a[1] y; 0");
    // What a pointer that is computed points to may be anything.
    assert_eq!(shown("int *p = x; atomic_store(p, 1); *y = 1; a[1] = 2;"), "; 2");
    let mixed = "C t\n{ int a[2]; }\nP0(int *a) { int r = READ_ONCE(a[0]); a[r] = 1; }\nexists (a[0]=1)\n";
    assert_eq!(mistakes(mixed), "3:39: an array that is also accessed atomically needs a constant index here\n");
}

#[test]
fn plain_accesses_of_c_tests_race() {
    let races = |code: &str| {
        let text = format!("C t\n{{}}\nP0(int *x) {{ *x = 1; }}\nP1(int *x) {{ {code} }}\nexists (x=1)\n");
        let report = check(&litmus(&text).program, &Options::new(MemoryModel::Sc), &Unwatched);
        report.violations.iter().any(|violation| violation.kind == ViolationKind::DataRace)
    };
    assert!(races("int r = *x;") && races("atomic_store(x, 2);") && races("atomic_fetch_add(x, 2);"));
    assert!(!races("int r = 1;"));
}

#[test]
fn c_atomics_return_what_they_should() {
    assert_eq!(
        c(
            "x=6",
            "int r = atomic_fetch_sub(x, 2); int s = atomic_fetch_or_explicit(x, 1, memory_order_relaxed);",
            "0:r; 0:s; x"
        ),
        "0:r=6; 0:s=4; [x]=5;"
    );
    assert_eq!(
        c("x=6", "int r = atomic_exchange(x, 2); atomic_store(y, atomic_load(x) + 1);", "0:r; x; y"),
        "0:r=6; [x]=2; [y]=3;"
    );
    let cas = "int e = 1; int r = atomic_compare_exchange_strong(x, &e, 5);";
    assert_eq!(c("x=1", cas, "0:e; 0:r; x"), "0:e=1; 0:r=1; [x]=5;");
    assert_eq!(c("x=2", cas, "0:e; 0:r; x"), "0:e=2; 0:r=0; [x]=2;");
    let cas = "int r = atomic_compare_exchange_weak_explicit(x, y, 5, memory_order_seq_cst, memory_order_relaxed);";
    assert_eq!(c("x=2; y=1", cas, "0:r; x; y"), "0:r=0; [x]=2; [y]=2;");
    assert_eq!(
        c("", "WRITE_ONCE(*y, 4); smp_mb(); int r = READ_ONCE(*y); int s = xchg(x, r);", "0:r; 0:s; x"),
        "0:r=4; 0:s=0; [x]=4;"
    );
    assert_eq!(
        c("", "int r = atomic_flag_test_and_set(x); atomic_flag_clear(y); atomic_init(a, 3);", "0:r; x; a"),
        "0:r=0; [a]=3; [x]=1;"
    );
}

#[test]
fn the_kernels_atomics_return_what_they_should() {
    let body = "int r = atomic_add_return(2, x); int s = atomic_fetch_add(3, x); int t = atomic_dec_and_test(y); atomic_inc(y);";
    assert_eq!(c("x=1; y=1", body, "0:r; 0:s; 0:t; x; y"), "0:r=3; 0:s=3; 0:t=1; [x]=6; [y]=1;");
    let body = "int r = atomic_xchg_relaxed(x, 4); int s = atomic_cmpxchg(x, 4, 5); int t = atomic_sub_return_release(1, x); atomic_or(8, y);";
    assert_eq!(c("x=1", body, "0:r; 0:s; 0:t; x; y"), "0:r=1; 0:s=4; 0:t=4; [x]=4; [y]=8;");
}

#[test]
fn compilers_labels_start_with_a_dot() {
    assert_eq!(x86_64("", "jmp .L1; movl $1,%eax; .L1: movl $2,%ebx", "0:rax; 0:rbx"), "0:rax=0; 0:rbx=2;");
}

#[test]
fn readers_of_the_kernel_need_no_instructions() {
    let body = "rcu_read_lock(); int r = rcu_dereference(*x); rcu_read_unlock(); rcu_assign_pointer(*y, r);";
    assert_eq!(c("x=3", body, "0:r; y"), "0:r=3; [y]=3;");
    assert!(
        mistakes("C wait\n{}\nP0(int *x) { synchronize_rcu(); }\nexists (x=0)")
            .contains("`synchronize_rcu` is not supported")
    );
}

#[test]
fn locks_in_c_exclude() {
    let thread = |number: u8, lock: &str, unlock: &str| {
        format!("P{number}(spinlock_t *l, int *x) {{ {lock}(l); int r = *x; *x = r + 1; {unlock}(l); }}\n")
    };
    let both = thread(0, "spin_lock", "spin_unlock") + &thread(1, "mutex_lock", "mutex_unlock");
    let text = format!("C locks\n{{}}\n{both}locations [x; l]");
    for memory in MemoryModel::MACHINES {
        let states = outcome(&litmus(&text), memory);
        assert_eq!(states.states().into_iter().collect::<Vec<_>>(), ["[l]=0; [x]=2;"], "{memory}");
    }
}

#[test]
fn a_flag_starts_unset() {
    assert_eq!(
        c("atomic_flag x = ATOMIC_FLAG_INIT", "int r = atomic_flag_test_and_set(x);", "0:r; x"),
        "0:r=0; [x]=1;"
    );
    assert_eq!(c("atomic_int x = ATOMIC_VAR_INIT(3)", "", "x"), "[x]=3;");
}

#[test]
fn the_right_side_of_a_short_circuit_reads_only_when_it_must() {
    let text = "C once\n{}\nP0(int *x, int *y) { int r = *x && *y; }\nP1(int *x, int *y) { *y = 1; *x = 1; }\nforall (0:r=0 \\/ 0:r=1)";
    assert_eq!(states(text), "0:r=0; | 0:r=1;");
    let loads = |body: &str| {
        let text = format!("C loads\n{{}}\nP0(int *x, int *y) {{ {body} }}\nexists true");
        let code = &litmus(&text).program.routines[0].code;
        code.iter().filter(|instr| matches!(instr, Instr::Branch { .. })).count()
    };
    assert_eq!(loads("int r = *x && *y;"), 1);
    assert_eq!(loads("int r = 1; int s = *x && r;"), 0);
}

#[test]
fn fences_and_orderings_reach_the_machine() {
    let allowed = |fence: &str, memory| {
        let text = format!(
            "C SB\n{{}}\nP0(atomic_int *x, atomic_int *y) {{ atomic_store_explicit(x,1,memory_order_relaxed); {fence} int r = atomic_load_explicit(y, memory_order_acquire); }}\n\
             P1(atomic_int *x, atomic_int *y) {{ atomic_store_explicit(y,1,memory_order_release); {fence} int r = atomic_load_explicit(x, memory_order_acquire); }}\nexists (0:r=0 /\\ 1:r=0)"
        );
        outcome(&litmus(&text), memory).holds
    };
    assert!(allowed("", MemoryModel::Tso));
    assert!(allowed("atomic_thread_fence(memory_order_acq_rel);", MemoryModel::Tso));
    assert!(!allowed("atomic_thread_fence(memory_order_seq_cst);", MemoryModel::Pso));
    assert!(!allowed("smp_mb();", MemoryModel::Pso));
    let published = |store: &str| {
        let text = format!(
            "X86 MP\n{{}}\nP0 | P1 ;\nMOV [x],$1 | MOV EAX,[y] ;\n{store} | MOV EBX,[x] ;\nMOV [y],$1 | ;\nexists (1:EAX=1 /\\ 1:EBX=0)"
        );
        outcome(&litmus(&text), MemoryModel::Pso).holds
    };
    assert!(published("LFENCE"));
    assert!(!published("SFENCE"));
    assert!(!published("MFENCE"));
}

#[test]
fn awaiting_loops_are_found_and_end() {
    let test = litmus(
        "X86 wait\n{}\nP0 | P1 ;\nMOV [x],$1 | L: MOV EAX,[y] ;\nMOV [y],$1 | CMP EAX,$1 ;\n | JNE L ;\n | MOV EBX,[x] ;\nexists (1:EBX=0)",
    );
    assert_eq!(test.program.routines[1].loops.len(), 1);
    assert!(!outcome(&test, MemoryModel::Tso).holds);
    assert!(outcome(&test, MemoryModel::Pso).holds);
}

const SB: &str =
    "X86 SB\n{}\nP0 | P1 ;\nMOV [x],$1 | MOV [y],$1 ;\nMOV EAX,[y] | MOV EAX,[x] ;\nexists\n(0:EAX=0 /\\ 1:EAX=0)";

#[test]
fn one_outcome_prints_as_herd_prints_it() {
    let test = litmus(SB);
    expect![[r#"
        Test SB Allowed
        States 4
        0:EAX=0; 1:EAX=0;
        0:EAX=0; 1:EAX=1;
        0:EAX=1; 1:EAX=0;
        0:EAX=1; 1:EAX=1;
        Ok
        Witnesses
        Positive: 1 Negative: 3
        Condition exists (0:EAX=0 /\ 1:EAX=0)
        Observation SB Sometimes 1 3
    "#]]
    .assert_eq(&herd_text(&test, &outcome(&test, MemoryModel::Tso)));
}

#[test]
fn memory_models_stand_side_by_side() {
    let test = litmus(SB);
    let outcomes = MemoryModel::MACHINES.map(|memory| (memory, outcome(&test, memory)));
    expect![[r#"
        Test SB Allowed
                              sc     tso        pso
        *  0:EAX=0; 1:EAX=0;  -      yes        yes
           0:EAX=0; 1:EAX=1;  yes    yes        yes
           0:EAX=1; 1:EAX=0;  yes    yes        yes
           0:EAX=1; 1:EAX=1;  yes    yes        yes
           States             3      4          4
           Observation        Never  Sometimes  Sometimes
           Verdict            No     Ok         Ok
        Condition exists (0:EAX=0 /\ 1:EAX=0)
    "#]]
    .assert_eq(&compare_text(&test, &outcomes));
}

#[test]
fn many_tests_make_a_table() {
    let test = litmus(SB);
    let outcomes = MemoryModel::MACHINES.map(|memory| (memory, Some(outcome(&test, memory)))).to_vec();
    let lines = [
        SummaryLine { name: "SB".to_string(), outcomes },
        SummaryLine {
            name: "endless".to_string(),
            outcomes: MemoryModel::MACHINES.map(|memory| (memory, None)).to_vec(),
        },
    ];
    expect![[r#"
        Test     sc            tso               pso
        SB       No Never 0/3  Ok Sometimes 1/4  Ok Sometimes 1/4
        endless  inconclusive  inconclusive      inconclusive
        2 tests  0 Ok          1 Ok              1 Ok
    "#]]
    .assert_eq(&summary_table(&lines));
}

#[test]
fn mistakes_are_reported_with_their_places() {
    let texts = [
        "ARM MP\n{}\n",
        "X86\n{}\n",
        "X86 t\nP0 ;\n",
        "X86 t\n{ x=; }\nP0 ;\n",
        "X86 t\n{ x[0]; }\nP0 ;\n",
        "X86 t\n{ int x[2]={1,2,3}; }\nP0 ;\n",
        "X86 t\n{}\n P0 | P0 ;\n",
        "X86 t\n{}\n P0 | P1 ;\n FSIN | MOV EAX ;\n NOP | LOCK MOV [x],$1 ;\n NOP | NOP | NOP ;\nexists x=1",
        "X86 t\n{}\n P0 | P1 ;\n JMP M | MOV [x],[y] ;\n L: L: | MOV $1,EAX ;\n LOCK INC EAX | MOV EAX,[4] ;\nexists x=1",
        "X86 t\n{ int a[2]; }\n P0 ;\n MOV EAX,[a+8] ;\n MOV EAX,[a+2];\n MOV %foo,$1;\nexists x=1",
        "X86 t\n{}\n P0 ;\n MOV EAX,[x]\nexists (0:EAX=1)",
        "X86 t\n{}\n P0 ;\n NOP ;\nexists (0:EAX=1",
        "X86 t\n{}\n P0 ;\n NOP ;\nexists (1:EAX=1 /\\ 0:QQ=1)",
        "X86 t\n{}\n P0 ;\n NOP ;\nexists 0:QQ=1",
        "X86 t\n{}\n P0 ;\n NOP ;\nperhaps x=1",
        "C t\n{}\nP0(int *x) { r = z; }\nexists x=1",
        "C t\n{}\nP0(int *x) { launch(x); }\nexists x=1",
        "C t\n{}\nP0(int *x) { atomic_store(x); }\nexists x=1",
        "C t\n{}\nP0(int *x) { goto end; }\nexists x=1",
        "C t\n{}\nP0(int *x) { break; }\nexists x=1",
        "C t\n{}\nexists x=1",
    ];
    expect![[r#"
        1:1: a litmus test starts with its architecture
        1:1: the test has no name
        2:1: expected the initial state in braces
        2:5: expected a number or the name of a variable, found `;`
        2:5: an array has at least one element
        2:17: `x` has 2 elements only
        3:7: there are two columns for `P0`
        4:2: the instruction `FSIN` is not supported
        4:9: `MOV` does not take 1 operand(s)
        5:8: `MOV` cannot have the prefix LOCK
        6:14: there are more columns here than threads
        5:5: the label `L` stands twice in this thread
        4:6: there is no label `M` in this thread
        6:11: this operand has to be in memory
        4:10: only one operand can be in memory
        5:14: a number cannot be written to
        6:25: memory at a fixed address is not supported
        6:7: X86 has no register `foo`
        5:1: expected `|` or `;` after an instruction, found `exists`
        5:16: expected `)`, found the end of the file
        5:9: there is no thread P1
        5:10: X86 has no register `QQ`
        5:1: the instruction `perhaps` is not supported
        3:18: `z` is not declared
        3:14: the function `launch` is not supported
        3:14: `atomic_store` has too few arguments
        3:14: `goto` is not supported
        3:14: there is no loop around this
        3:1: expected a thread such as `P0(int *x) { … }`, found `exists`
    "#]]
    .assert_eq(&texts.map(mistakes).concat());
}

#[test]
fn deep_nesting_is_refused() {
    let deep =
        |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        format!("X86 t\n{{}}\nP0 ;\nNOP ;\nexists {}", deep("(", "x=1", ")")),
        format!("X86 t\n{{}}\nP0 ;\nNOP ;\nexists {}x=1", "x=1 => ".repeat(100_000)),
        format!("C t\n{{}}\nP0(int *x) {{ int r = {}; }}\nexists true", deep("(", "1", ")")),
        format!("C t\n{{}}\nP0(int *x) {{ int r = {}1; }}\nexists true", "-".repeat(100_000)),
        format!("C t\n{{}}\nP0(int *x) {{ int r = 1{}; }}\nexists true", "+*x".repeat(100_000)),
        format!("C t\n{{}}\nP0(int *x) {}\nexists true", deep("{", "", "}")),
    ] {
        assert!(parse(Arc::new(Source::new("deep", text))).is_err());
    }
    // Long is not deep.
    let long = format!("X86 t\n{{}}\nP0 ;\nNOP ;\nexists x=0{}", " /\\ x=0".repeat(10_000));
    assert!(outcome(&litmus(&long), MemoryModel::Sc).holds);
}
