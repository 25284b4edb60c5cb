//! The tree of a program as it was written.

use crate::base::Span;
use crate::program::{Access, BinaryOp, Quantifier, UnaryOp};

/// A name and its place.
#[derive(Clone, Debug)]
pub(super) struct Ident {
    pub(super) name: String,
    pub(super) span: Span,
}

/// A whole file, by kind of item.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) constants: Vec<Constant>,
    pub(super) variables: Vec<Variable>,
    pub(super) syncs: Vec<Sync>,
    pub(super) structs: Vec<Struct>,
    pub(super) functions: Vec<Function>,
    pub(super) threads: Vec<ThreadItem>,
    /// All that were written; more than one is a mistake.
    pub(super) mains: Vec<Block>,
    /// All that were written; more than one is a mistake.
    pub(super) finallys: Vec<Block>,
    pub(super) conditions: Vec<Condition>,
}

#[derive(Debug)]
pub(super) struct Constant {
    pub(super) name: Ident,
    pub(super) value: Expr,
}

/// A shared variable or array.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) access: Access,
    pub(super) name: Ident,
    pub(super) size: Option<Expr>,
    pub(super) initial: Initial,
}

#[derive(Debug)]
pub(super) enum Initial {
    Zero,
    /// For the variable, or for every element.
    One(Expr),
    /// Element by element.
    Each(Vec<Expr>, Span),
}

/// A lock or condition variable, or an array of them.
#[derive(Debug)]
pub(super) struct Sync {
    pub(super) kind: SyncKind,
    pub(super) name: Ident,
    pub(super) size: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncKind {
    Mutex,
    RwLock,
    Condvar,
}

impl SyncKind {
    /// For messages.
    pub(super) fn description(self) -> &'static str {
        match self {
            SyncKind::Mutex => "a mutex",
            SyncKind::RwLock => "a read-write lock",
            SyncKind::Condvar => "a condition variable",
        }
    }

    /// The word that declares one.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            SyncKind::Mutex => "mutex",
            SyncKind::RwLock => "rwlock",
            SyncKind::Condvar => "condvar",
        }
    }
}

#[derive(Debug)]
pub(super) struct Struct {
    pub(super) name: Ident,
    pub(super) fields: Vec<(Access, Ident)>,
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Ident,
    pub(super) parameters: Vec<Ident>,
    pub(super) body: Block,
}

#[derive(Debug)]
pub(super) struct ThreadItem {
    pub(super) name: Ident,
    pub(super) parameters: Vec<Ident>,
    pub(super) count: Option<Expr>,
    pub(super) body: Block,
}

#[derive(Debug)]
pub(super) struct Condition {
    pub(super) quantifier: Quantifier,
    pub(super) proposition: Expr,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) statements: Vec<Statement>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Statement {
    pub(super) kind: StatementKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum StatementKind {
    Let(Ident, Expr),
    /// `target = value`, or `target op= value`.
    Assign(Expr, Option<BinaryOp>, Expr),
    Expr(Expr),
    If(Expr, Block, Option<Box<Statement>>),
    While(Expr, Block),
    For(Ident, Expr, Expr, Block),
    Loop(Block),
    Break,
    Continue,
    Return(Option<Expr>),
    Fence(Option<Ident>),
    Yield,
    Join(Expr),
    Block(Block),
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
    /// Height of the tree: what recursion over it costs.
    pub(super) height: u32,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Int(i64),
    /// Only as a message.
    Str(String),
    Name(String),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Field(Box<Expr>, Ident),
    Call(Ident, Vec<Expr>),
    Method(Box<Expr>, Ident, Vec<Expr>),
    /// Only as an argument of `choose`.
    Range(Box<Expr>, Box<Expr>),
    New(Ident, Vec<(Ident, Expr)>),
    Fork(Ident, Vec<Expr>),
}

impl Expr {
    pub(super) fn new(kind: ExprKind, span: Span) -> Expr {
        let mut height = 0;
        let mut child = |expr: &Expr| height = height.max(expr.height);
        match &kind {
            ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::Name(_) => {}
            ExprKind::Unary(_, a) | ExprKind::Field(a, _) => child(a),
            ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) | ExprKind::Range(a, b) => {
                child(a);
                child(b);
            }
            ExprKind::Call(_, arguments) | ExprKind::Fork(_, arguments) => arguments.iter().for_each(child),
            ExprKind::Method(a, _, arguments) => {
                child(a);
                arguments.iter().for_each(child);
            }
            ExprKind::New(_, fields) => fields.iter().for_each(|(_, value)| child(value)),
        }
        Expr { kind, span, height: height + 1 }
    }
}
