//! Well-formedness: what front ends promise, and execution relies on.

use super::{FinalValue, Instr, Place, Program, Reg, Routine};

/// Says what is wrong with a program, if anything. Front ends never produce such a program: a message is a bug of
/// the front end (or of code that built the program by hand).
pub fn validate(program: &Program) -> Result<(), String> {
    for routine in &program.routines {
        validate_routine(program, routine).map_err(|what| format!("routine `{}`: {what}", routine.name))?;
    }
    for start in &program.initial {
        let routine = program.routines.get(start.routine).ok_or("a thread starts a routine that is not there")?;
        require(start.arguments.len() == routine.parameters as usize, "a thread has the wrong number of arguments")?;
    }
    let finally_exists = program
        .finally
        .is_none_or(|routine| program.routines.get(routine).is_some_and(|routine| routine.parameters == 0));
    require(finally_exists, "`finally` is not a routine without parameters")?;
    let mut result = Ok(());
    for condition in &program.conditions {
        condition.proposition.for_each_leaf(&mut |leaf| {
            if !final_value_exists(program, leaf) {
                result = Err("a condition mentions something that is not there".to_string());
            }
        });
    }
    result
}

fn final_value_exists(program: &Program, value: FinalValue) -> bool {
    match value {
        FinalValue::Memory(loc) => loc.as_global().is_some_and(|index| index < program.cells.len()),
        FinalValue::Register { thread, register } => program.initial.get(thread).is_some_and(|start| {
            let routine = &program.routines[start.routine];
            (register.0 as usize) < routine.registers.len() && routine.observed.contains(&register)
        }),
    }
}

fn validate_routine(program: &Program, routine: &Routine) -> Result<(), String> {
    let length = routine.code.len();
    require(routine.spans.len() == length, "a span per instruction is needed")?;
    require(routine.parameters as usize <= routine.registers.len(), "parameters are registers")?;
    require(length > 0, "there is no code")?;
    for (pc, instr) in routine.code.iter().enumerate() {
        for successor in instr.successors(pc as u32) {
            require((successor as usize) < length, "control leaves the code")?;
        }
        let register_exists = |Reg(reg): Reg| (reg as usize) < routine.registers.len();
        let mut all_exist = instr.defined().is_none_or(register_exists);
        instr.for_each_expr(&mut |expr| expr.for_each_leaf(&mut |reg| all_exist &= register_exists(reg)));
        require(all_exist, "a register is not declared")?;
        validate_operands(program, instr)?;
    }
    let loops_fit = routine.loops.iter().all(|l| l.head < l.end && l.end as usize <= length);
    require(loops_fit, "a loop is not a range of the code")
}

fn validate_operands(program: &Program, instr: &Instr) -> Result<(), String> {
    let cells = program.cells.len();
    let place_exists = |place: &Place| match place {
        Place::Cell(cell) => (*cell as usize) < cells,
        Place::Element { base, length, .. } => (*base as usize + *length as usize) <= cells,
        Place::Deref { .. } => true,
    };
    let lock_exists = |at: &super::Indexed| at.base as usize + at.length as usize <= program.locks.len();
    let condvar_exists = |at: &super::Indexed| at.base as usize + at.length as usize <= program.condvars.len();
    let exists = match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. } => place_exists(place),
        Instr::Lock { lock, .. } | Instr::TryLock { lock, .. } | Instr::Unlock { lock, .. } => lock_exists(lock),
        Instr::Wait { condvar, lock } => condvar_exists(condvar) && lock_exists(lock),
        Instr::Notify { condvar, .. } => condvar_exists(condvar),
        Instr::Fork { routine, arguments, .. } => {
            program.routines.get(*routine).is_some_and(|routine| routine.parameters as usize == arguments.len())
        }
        _ => true,
    };
    require(exists, "an operand names something that is not there")
}

fn require(condition: bool, otherwise: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise.to_string()) }
}
