//! Programs as text: one line per instruction, names as in the source. To see what runs, and for tests.

use super::{
    Access, BinaryOp, Expr, ExprOver, FinalExpr, FinalValue, Indexed, Instr, LockMode, Ordering, Place, Program,
    Quantifier, Reg, RmwOp, Routine, UnaryOp,
};
use std::fmt;

impl Program {
    /// A routine, printed with this program's names.
    pub fn print_routine<'a>(&'a self, routine: &'a Routine) -> PrintedRoutine<'a> {
        PrintedRoutine { program: self, routine }
    }
}

/// A routine that prints itself: a header, its loops, and numbered instructions.
#[derive(Clone, Copy, Debug)]
pub struct PrintedRoutine<'a> {
    program: &'a Program,
    routine: &'a Routine,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cell in &self.cells {
            let access = if cell.access == Access::Plain { "plain" } else { "shared" };
            writeln!(f, "{access} {} = {}", cell.name, self.value_name(cell.initial))?;
        }
        for routine in &self.routines {
            write!(f, "{}", self.print_routine(routine))?;
        }
        for start in &self.initial {
            let arguments: Vec<String> = start.arguments.iter().map(i64::to_string).collect();
            let routine = &self.routines[start.routine].name;
            writeln!(f, "start {} = {routine}({})", start.name, arguments.join(", "))?;
        }
        for condition in &self.conditions {
            let quantifier = match condition.quantifier {
                Quantifier::Exists => "exists",
                Quantifier::Forbidden => "forbidden",
                Quantifier::Always => "always",
            };
            writeln!(f, "{quantifier} {}", self.print_final(&condition.proposition))?;
        }
        Ok(())
    }
}

impl fmt::Display for PrintedRoutine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routine = self.routine;
        let parameters: Vec<String> = (0..routine.parameters).map(|reg| self.register(Reg(reg))).collect();
        write!(f, "{}({})", routine.name, parameters.join(", "))?;
        for l in &routine.loops {
            write!(f, " loop {}..{}", l.head, l.end)?;
        }
        if !routine.observed.is_empty() {
            let observed: Vec<String> = routine.observed.iter().map(|reg| self.register(*reg)).collect();
            write!(f, " observed {}", observed.join(", "))?;
        }
        writeln!(f)?;
        for (pc, instr) in routine.code.iter().enumerate() {
            writeln!(f, "{pc:4}  {}", self.instr(instr))?;
        }
        Ok(())
    }
}

impl Program {
    /// A condition's proposition with the names of variables and threads.
    pub fn print_final(&self, proposition: &FinalExpr) -> String {
        print_expr(proposition, &|leaf| match leaf {
            FinalValue::Memory(loc) => self.loc_name(loc),
            FinalValue::Register { thread, register } => {
                let start = &self.initial[thread];
                let printed = self.print_routine(&self.routines[start.routine]);
                format!("{}.{}", start.name, printed.register(register))
            }
        })
    }
}

impl PrintedRoutine<'_> {
    /// The register's name; its number where the name is missing or belongs to several.
    fn register(&self, reg: Reg) -> String {
        let names = &self.routine.registers;
        let name = &names[reg.0 as usize];
        let unique = names.iter().filter(|other| *other == name).count() == 1;
        if unique && !name.is_empty() { name.clone() } else { format!("{name}%{}", reg.0) }
    }

    fn expr(&self, expr: &Expr) -> String {
        print_expr(expr, &|reg| self.register(reg))
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::Cell(cell) => self.program.cells[*cell as usize].name.clone(),
            Place::Element { base, index, .. } => {
                let first = &self.program.cells[*base as usize].name;
                format!("{}[{}]", array_name(first), self.expr(index))
            }
            Place::Deref { pointer, offset, access } => {
                let plain = if *access == Access::Plain { " plain" } else { "" };
                format!("*({} + {offset}){plain}", self.expr(pointer))
            }
        }
    }

    fn indexed(&self, at: &Indexed, first: &str) -> String {
        match at.length {
            1 => first.to_string(),
            _ => format!("{}[{}]", array_name(first), self.expr(&at.index)),
        }
    }

    fn lock(&self, at: &Indexed, mode: LockMode) -> String {
        let shared = if mode == LockMode::Shared { " shared" } else { "" };
        format!("{}{shared}", self.indexed(at, &self.program.locks[at.base as usize].name))
    }

    fn instr(&self, instr: &Instr) -> String {
        let set = |dst: &Option<Reg>| dst.map_or(String::new(), |dst| format!("{} = ", self.register(dst)));
        match instr {
            Instr::Assign { dst, value } => format!("{} = {}", self.register(*dst), self.expr(value)),
            Instr::Jump { target } => format!("jump {target}"),
            Instr::Branch { condition, then, otherwise } => {
                format!("branch {} ? {then} : {otherwise}", self.expr(condition))
            }
            Instr::Alloc { dst, cells } => format!("{} = alloc {cells}", self.register(*dst)),
            Instr::Assert { condition, message } => format!("assert {} {message:?}", self.expr(condition)),
            Instr::Assume { condition } => format!("assume {}", self.expr(condition)),
            Instr::Panic { message } => format!("panic {message:?}"),
            Instr::End => "end".to_string(),
            Instr::Load { dst, place, ordering } => {
                format!("{} = load {} {}", self.register(*dst), self.place(place), ordering.name())
            }
            Instr::Store { place, value, ordering } => {
                format!("store {} {} {}", self.place(place), self.expr(value), ordering.name())
            }
            Instr::Rmw { dst, place, op, operand, ordering } => {
                let (place, operand) = (self.place(place), self.expr(operand));
                format!("{}{} {place} {operand} {}", set(dst), op.name(), ordering.name())
            }
            Instr::Cas { dst, place, expected, desired, success, failure } => {
                let (expected, desired) = (self.expr(expected), self.expr(desired));
                let place = self.place(place);
                let (success, failure) = (success.name(), failure.name());
                format!("{} = cas {place} {expected} {desired} {success} {failure}", self.register(*dst))
            }
            Instr::Fence { ordering } => format!("fence {}", ordering.name()),
            Instr::Lock { lock, mode } => format!("lock {}", self.lock(lock, *mode)),
            Instr::TryLock { dst, lock, mode } => {
                format!("{} = try_lock {}", self.register(*dst), self.lock(lock, *mode))
            }
            Instr::Unlock { lock, mode } => format!("unlock {}", self.lock(lock, *mode)),
            Instr::Wait { condvar, lock } => {
                let condvar = self.indexed(condvar, &self.program.condvars[condvar.base as usize]);
                format!("wait {condvar} {}", self.lock(lock, LockMode::Exclusive))
            }
            Instr::Notify { condvar, all } => {
                let condvar = self.indexed(condvar, &self.program.condvars[condvar.base as usize]);
                format!("notify{} {condvar}", if *all { "_all" } else { "" })
            }
            Instr::Fork { dst, routine, arguments } => {
                let arguments: Vec<String> = arguments.iter().map(|argument| self.expr(argument)).collect();
                format!("{}fork {}({})", set(dst), self.program.routines[*routine].name, arguments.join(", "))
            }
            Instr::Join { thread } => format!("join {}", self.expr(thread)),
            Instr::Free { pointer } => format!("free {}", self.expr(pointer)),
            Instr::Choose { dst, low, high } => {
                format!("{} = choose {}..{}", self.register(*dst), self.expr(low), self.expr(high))
            }
            Instr::Yield => "yield".to_string(),
        }
    }
}

/// `flag` of `flag[0]`.
fn array_name(element: &str) -> &str {
    element.split('[').next().unwrap_or(element)
}

fn print_expr<L: Copy>(expr: &ExprOver<L>, leaf: &impl Fn(L) -> String) -> String {
    // Operands in parentheses wherever they are not simple: readers need not know precedences.
    let operand = |expr: &ExprOver<L>| match expr {
        ExprOver::Binary(..) => format!("({})", print_expr(expr, leaf)),
        _ => print_expr(expr, leaf),
    };
    match expr {
        ExprOver::Const(value) => value.to_string(),
        ExprOver::Leaf(l) => leaf(*l),
        ExprOver::Unary(op, inner) => format!("{}{}", op.symbol(), operand(inner)),
        ExprOver::Binary(op, left, right) => format!("{} {} {}", operand(left), op.symbol(), operand(right)),
    }
}

impl UnaryOp {
    /// The operator as programs write it.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

impl BinaryOp {
    /// The operator as programs write it.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}

impl Ordering {
    /// The name as programs write it.
    pub fn name(self) -> &'static str {
        match self {
            Ordering::Relaxed => "relaxed",
            Ordering::Acquire => "acquire",
            Ordering::Release => "release",
            Ordering::AcqRel => "acqrel",
            Ordering::SeqCst => "seqcst",
        }
    }
}

impl RmwOp {
    /// The name as programs write it.
    pub fn name(self) -> &'static str {
        match self {
            RmwOp::Swap => "swap",
            RmwOp::Add => "fetch_add",
            RmwOp::Sub => "fetch_sub",
            RmwOp::And => "fetch_and",
            RmwOp::Or => "fetch_or",
            RmwOp::Xor => "fetch_xor",
            RmwOp::Nand => "fetch_nand",
            RmwOp::Max => "fetch_max",
            RmwOp::Min => "fetch_min",
            RmwOp::Take => "take",
            RmwOp::Draw => "draw",
            RmwOp::Typed { op, .. } => op.name(),
        }
    }
}
