//! Calls: C11 atomics, and the Linux kernel's most common ones.

use super::expression::fold;
use super::{Term, ThreadCode};
use crate::base::{Diagnostic, Loc, Span};
use crate::frontend::litmus::code::Label;
use crate::frontend::litmus::lexer::{Parsed, Word};
use crate::program::{BinaryOp, Expr, Instr, Ordering, Place, Reg, RmwOp};

/// The arguments of a call, in order, with their places.
struct Arguments {
    name: String,
    span: Span,
    terms: std::vec::IntoIter<Term>,
    order: Ordering,
    /// The second order: that of a compare-exchange which fails.
    failure: Option<Ordering>,
}

/// The orders of a compare-exchange that says none.
const FULL: (Ordering, Ordering) = (Ordering::SeqCst, Ordering::SeqCst);

/// Which value a read-modify-write gives.
enum Wanted {
    Old,
    New,
    IsZero,
}

impl ThreadCode<'_, '_> {
    /// A call, after the function's name. A call without a value gives 0.
    pub(super) fn call(&mut self, name: &str, span: Span) -> Parsed<Term> {
        let mut arguments = self.arguments(name, span)?;
        let value = match self.c11(&mut arguments)? {
            Some(value) => value,
            None => match self.linux(&mut arguments)? {
                Some(value) => value,
                None => return Err(Diagnostic::new(span, format!("the function `{name}` is not supported"))),
            },
        };
        if arguments.terms.next().is_some() {
            return Err(Diagnostic::new(span, format!("`{name}` has too many arguments")));
        }
        Ok(Term::Value(value))
    }

    /// Reads the arguments; memory orders are taken out.
    fn arguments(&mut self, name: &str, span: Span) -> Parsed<Arguments> {
        self.cursor.expect("(")?;
        let (mut terms, mut orders) = (Vec::new(), Vec::new());
        while !self.cursor.eat(")") {
            match self.memory_order() {
                Some(found) => orders.push(found),
                None => terms.push(self.expression_term()?),
            }
            if !self.cursor.at_symbol(")") {
                self.cursor.expect(",")?;
            }
        }
        let order = orders.first().copied().unwrap_or(Ordering::SeqCst);
        let failure = orders.get(1).copied();
        Ok(Arguments { name: name.to_string(), span, terms: terms.into_iter(), order, failure })
    }

    fn memory_order(&mut self) -> Option<Ordering> {
        let Word::Identifier(name) = self.cursor.peek() else { return None };
        let order = match name {
            "memory_order_relaxed" => Ordering::Relaxed,
            "memory_order_acquire" | "memory_order_consume" => Ordering::Acquire,
            "memory_order_release" => Ordering::Release,
            "memory_order_acq_rel" => Ordering::AcqRel,
            "memory_order_seq_cst" => Ordering::SeqCst,
            _ => return None,
        };
        self.cursor.advance();
        Some(order)
    }

    fn c11(&mut self, arguments: &mut Arguments) -> Parsed<Option<Expr>> {
        let name = arguments.name.strip_suffix("_explicit").unwrap_or(&arguments.name).to_string();
        let order = arguments.order;
        let pointer_first = !matches!(arguments.terms.as_slice(), [_, Term::Value(Expr::Const(second))]
            if Loc::from_pointer(*second).is_some());
        if let Some(op) = name.strip_prefix("atomic_fetch_").and_then(rmw_op).filter(|_| pointer_first) {
            return self.rmw(op, arguments).map(Some);
        }
        Ok(Some(match name.as_str() {
            "atomic_load" => {
                let place = self.pointer(arguments)?;
                self.load(place, order)
            }
            "atomic_store" => self.store(arguments, order)?,
            "atomic_init" => self.store(arguments, Ordering::Relaxed)?,
            "atomic_exchange" => self.rmw(RmwOp::Swap, arguments)?,
            "atomic_flag_test_and_set" => {
                let place = self.pointer(arguments)?;
                self.emit_rmw(RmwOp::Swap, place, 1.into(), order)
            }
            "atomic_flag_clear" => {
                let place = self.pointer(arguments)?;
                self.code.emit(Instr::Store { place, value: 0.into(), ordering: order });
                0.into()
            }
            "atomic_compare_exchange_strong" | "atomic_compare_exchange_weak" | "SCAS" | "WCAS" => {
                self.compare_exchange(arguments)?
            }
            "atomic_thread_fence" => self.fence(order),
            "atomic_signal_fence" => 0.into(),
            _ => return Ok(None),
        }))
    }

    fn linux(&mut self, arguments: &mut Arguments) -> Parsed<Option<Expr>> {
        let name = arguments.name.clone();
        let base = ["_relaxed", "_acquire", "_release"].iter().find_map(|suffix| name.strip_suffix(suffix));
        Ok(Some(match name.as_str() {
            "READ_ONCE" | "rcu_dereference" => {
                let place = self.memory(arguments)?;
                self.load(place, Ordering::Relaxed)
            }
            "WRITE_ONCE" => self.store_to_memory(arguments, Ordering::Relaxed)?,
            "rcu_assign_pointer" => self.store_to_memory(arguments, Ordering::Release)?,
            "smp_mb" => self.fence(Ordering::SeqCst),
            "smp_wmb" => self.fence(Ordering::Release),
            "smp_rmb" => self.fence(Ordering::Acquire),
            "barrier" | "cpu_relax" | "rcu_read_lock" | "rcu_read_unlock" => 0.into(),
            "smp_load_acquire" => {
                let place = self.pointer(arguments)?;
                self.load(place, Ordering::Acquire)
            }
            "smp_store_release" => self.store(arguments, Ordering::Release)?,
            "smp_store_mb" => self.store(arguments, Ordering::SeqCst)?,
            "atomic_read" => {
                let place = self.pointer(arguments)?;
                self.load(place, Ordering::Relaxed)
            }
            "atomic_set" => self.store(arguments, Ordering::Relaxed)?,
            "smp_mb__before_atomic" | "smp_mb__after_atomic" | "smp_mb__after_spinlock" => self.fence(Ordering::SeqCst),
            "spin_lock" | "mutex_lock" | "lock" => self.lock(arguments)?,
            "spin_unlock" | "mutex_unlock" | "unlock" => {
                let place = self.pointer(arguments)?;
                self.code.emit(Instr::Store { place, value: 0.into(), ordering: Ordering::Release });
                0.into()
            }
            _ => return self.linux_rmw(base.unwrap_or(&name), arguments),
        }))
    }

    /// Read-modify-writes of the kernel. Their operand comes before the pointer.
    fn linux_rmw(&mut self, name: &str, arguments: &mut Arguments) -> Parsed<Option<Expr>> {
        match name {
            "xchg" | "atomic_xchg" => return self.rmw(RmwOp::Swap, arguments).map(Some),
            "cmpxchg" | "atomic_cmpxchg" => {
                let place = self.pointer(arguments)?;
                let (expected, desired) = (self.operand(arguments)?, self.operand(arguments)?);
                return Ok(Some(self.emit_cas(place, expected, desired, FULL)));
            }
            _ => {}
        }
        let Some(rest) = name.strip_prefix("atomic_") else { return Ok(None) };
        let (rest, wanted) = match rest {
            _ if rest.ends_with("_return") => (rest.trim_end_matches("_return"), Wanted::New),
            _ if rest.ends_with("_and_test") => (rest.trim_end_matches("_and_test"), Wanted::IsZero),
            _ if rest.starts_with("fetch_") => (rest.trim_start_matches("fetch_"), Wanted::Old),
            _ => (rest, Wanted::Old),
        };
        let (op, operand) = match rest {
            "inc" => (RmwOp::Add, 1.into()),
            "dec" => (RmwOp::Sub, 1.into()),
            _ => match rmw_op(rest) {
                Some(op) => (op, self.operand(arguments)?),
                None => return Ok(None),
            },
        };
        let place = self.pointer(arguments)?;
        let old = self.emit_rmw(op, place, operand.clone(), Ordering::SeqCst);
        let new = |old: Expr| match op {
            RmwOp::Add => fold(BinaryOp::Add, old, operand),
            RmwOp::Sub => fold(BinaryOp::Sub, old, operand),
            RmwOp::And => fold(BinaryOp::BitAnd, old, operand),
            RmwOp::Or => fold(BinaryOp::BitOr, old, operand),
            _ => fold(BinaryOp::BitXor, old, operand),
        };
        Ok(Some(match wanted {
            Wanted::Old => old,
            Wanted::New => new(old),
            Wanted::IsZero => fold(BinaryOp::Eq, new(old), 0.into()),
        }))
    }

    /// Tries to turn 0 into 1 until that works, as a lock on such a machine does.
    fn lock(&mut self, arguments: &mut Arguments) -> Parsed<Expr> {
        let place = self.pointer(arguments)?;
        let (head, end) = (self.code.label(), self.code.label());
        self.code.place(head);
        let found = self.emit_cas(place, 0.into(), 1.into(), FULL);
        self.code.branch(found, head, end);
        self.code.place(end);
        Ok(0.into())
    }

    fn fence(&mut self, ordering: Ordering) -> Expr {
        if ordering != Ordering::Relaxed {
            self.code.emit(Instr::Fence { ordering });
        }
        0.into()
    }

    fn store(&mut self, arguments: &mut Arguments, ordering: Ordering) -> Parsed<Expr> {
        let place = self.pointer(arguments)?;
        let value = self.operand(arguments)?;
        self.code.emit(Instr::Store { place, value, ordering });
        Ok(0.into())
    }

    /// A store to memory that the first argument is by itself: `*x`.
    fn store_to_memory(&mut self, arguments: &mut Arguments, ordering: Ordering) -> Parsed<Expr> {
        let place = self.memory(arguments)?;
        let value = self.operand(arguments)?;
        self.code.emit(Instr::Store { place, value, ordering });
        Ok(0.into())
    }

    fn rmw(&mut self, op: RmwOp, arguments: &mut Arguments) -> Parsed<Expr> {
        let place = self.pointer(arguments)?;
        let operand = self.operand(arguments)?;
        Ok(self.emit_rmw(op, place, operand, arguments.order))
    }

    fn emit_rmw(&mut self, op: RmwOp, place: Place, operand: Expr, ordering: Ordering) -> Expr {
        let old = self.code.temporary();
        self.code.emit(Instr::Rmw { dst: Some(old), place, op, operand, ordering });
        old.into()
    }

    fn emit_cas(&mut self, place: Place, expected: Expr, desired: Expr, orders: (Ordering, Ordering)) -> Expr {
        let dst = self.code.temporary();
        let (success, failure) = orders;
        self.code.emit(Instr::Cas { dst, place, expected, desired, success, failure });
        dst.into()
    }

    /// The second argument points to the expected value and receives the one that was found instead.
    fn compare_exchange(&mut self, arguments: &mut Arguments) -> Parsed<Expr> {
        let success = arguments.order;
        let failure = arguments.failure.unwrap_or(success.on_failure());
        if !failure.is_of_read() {
            let what = format!("`{}` that fails cannot release", arguments.name);
            return Err(Diagnostic::new(arguments.span, what));
        }
        let place = self.pointer(arguments)?;
        let term = self.next(arguments)?;
        let expected_in = match term {
            Term::AddressOfLocal(reg, _) => Err(reg),
            term => {
                let pointer = self.value(term);
                Ok(self.place_at(pointer))
            }
        };
        let expected = self.code.temporary();
        match &expected_in {
            Ok(place) => {
                self.code.emit_plain(Instr::Load { dst: expected, place: place.clone(), ordering: Ordering::Relaxed })
            }
            Err(reg) => self.code.assign(expected, *reg),
        }
        let desired = self.operand(arguments)?;
        let (found, succeeded) = (self.code.temporary(), self.code.temporary());
        let (failed, end) = (self.code.label(), self.code.label());
        if arguments.name.contains("weak") || arguments.name == "WCAS" {
            self.fail_without_reason(found, &place, expected, failure, failed);
        }
        self.code.emit(Instr::Cas { dst: found, place, expected: expected.into(), desired, success, failure });
        self.code.assign(succeeded, Expr::from(found).binary(BinaryOp::Eq, expected.into()));
        self.code.branch(succeeded.into(), end, failed);
        self.code.place(failed);
        self.code.assign(succeeded, 0);
        match expected_in {
            Ok(place) => self.code.emit_plain(Instr::Store { place, value: found.into(), ordering: Ordering::Relaxed }),
            Err(reg) => self.code.assign(reg, found),
        }
        self.code.place(end);
        Ok(succeeded.into())
    }

    /// A weak compare-exchange may find what it expects and fail all the same: once at each place, so that loops end.
    fn fail_without_reason(&mut self, found: Reg, place: &Place, expected: Reg, ordering: Ordering, failed: Label) {
        let (used_up, fails) = (self.code.hidden(), self.code.temporary());
        let (failing, trying) = (self.code.label(), self.code.label());
        let high = Expr::from(2).binary(BinaryOp::Sub, used_up.into());
        self.code.emit(Instr::Choose { dst: fails, low: 0.into(), high });
        self.code.branch(fails.into(), failing, trying);
        self.code.place(failing);
        self.code.assign(used_up, 1);
        self.code.emit(Instr::Load { dst: found, place: place.clone(), ordering });
        // That it can fail for a reason is known already.
        self.code.emit(Instr::Assume { condition: Expr::from(found).binary(BinaryOp::Eq, expected.into()) });
        self.code.jump(failed);
        self.code.place(trying);
    }

    fn next(&mut self, arguments: &mut Arguments) -> Parsed<Term> {
        let missing = || Diagnostic::new(arguments.span, format!("`{}` has too few arguments", arguments.name));
        arguments.terms.next().ok_or_else(missing)
    }

    fn operand(&mut self, arguments: &mut Arguments) -> Parsed<Expr> {
        let term = self.next(arguments)?;
        Ok(self.value(term))
    }

    /// What the next argument points to.
    fn pointer(&mut self, arguments: &mut Arguments) -> Parsed<Place> {
        let pointer = match self.next(arguments)? {
            Term::AddressOfLocal(..) => {
                return Err(Diagnostic::new(arguments.span, "atomic operations on local variables are not supported"));
            }
            term => self.value(term),
        };
        Ok(self.place_at(pointer))
    }

    /// The next argument, which is memory by itself: `*x`.
    fn memory(&mut self, arguments: &mut Arguments) -> Parsed<Place> {
        match self.next(arguments)? {
            Term::Memory(place) => Ok(place),
            _ => Err(Diagnostic::new(arguments.span, format!("`{}` needs memory: `*x`", arguments.name))),
        }
    }
}

fn rmw_op(name: &str) -> Option<RmwOp> {
    Some(match name {
        "add" => RmwOp::Add,
        "sub" => RmwOp::Sub,
        "and" => RmwOp::And,
        "or" => RmwOp::Or,
        "xor" => RmwOp::Xor,
        _ => return None,
    })
}
