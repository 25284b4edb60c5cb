//! Items: what stands at the top level of a file.

use super::{ITEMS, Parsed, Parser};
use crate::base::Diagnostic;
use crate::frontend::ut::ast::{
    Condition, Constant, File, Function, Ident, Initial, Struct, Sync, SyncKind, ThreadItem, Variable,
};
use crate::frontend::ut::suggest;
use crate::program::{Access, Quantifier};

impl Parser<'_> {
    /// One item, added to the file.
    pub(super) fn item(&mut self, file: &mut File) -> Parsed<()> {
        let word = self.word().unwrap_or("");
        match word {
            "const" => self.constants(file),
            "shared" => self.variables(Access::Atomic, file),
            "plain" => self.variables(Access::Plain, file),
            "mutex" => self.syncs(SyncKind::Mutex, file),
            "rwlock" => self.syncs(SyncKind::RwLock, file),
            "condvar" => self.syncs(SyncKind::Condvar, file),
            "struct" => self.structure(file),
            "fn" => self.function(file),
            "thread" => self.thread(file),
            "main" => {
                self.advance();
                if self.eat("(") {
                    self.expect(")", "`main` has no parameters")?;
                }
                let body = self.block()?;
                file.mains.push(body);
                Ok(())
            }
            "finally" => {
                self.advance();
                let body = self.block()?;
                file.finallys.push(body);
                Ok(())
            }
            "exists" => self.condition(Quantifier::Exists, file),
            "forbidden" => self.condition(Quantifier::Forbidden, file),
            "always" => self.condition(Quantifier::Always, file),
            _ => self.not_an_item(word),
        }
    }

    fn not_an_item<T>(&mut self, word: &str) -> Parsed<T> {
        let otherwise = match word {
            "int" | "atomic" | "static" | "let" | "var" => "declare shared variables with `shared x = 0;`",
            "init" => "give initial values where variables are declared: `shared x = 1;`",
            "assert" => "state what must hold in the end with `finally { assert(…); }` or `always (…);`",
            _ => {
                "a file consists of const, shared, plain, mutex, rwlock, condvar, struct, fn, thread, main, finally, \
                  exists, forbidden and always"
            }
        };
        let hint = suggest::hint(word, ITEMS, otherwise);
        self.expected("a declaration", &hint)
    }

    fn constants(&mut self, file: &mut File) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.ident("the constant's name")?;
            self.expect("=", "a constant needs a value: `const N = 2;`")?;
            let value = self.expression()?;
            file.constants.push(Constant { name, value });
            if !self.eat(",") {
                return self.semicolon("the constant");
            }
        }
    }

    fn variables(&mut self, access: Access, file: &mut File) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.ident("the variable's name")?;
            let size = self.size()?;
            let initial = self.initial()?;
            file.variables.push(Variable { access, name, size, initial });
            if !self.eat(",") {
                return self.semicolon("the declaration");
            }
        }
    }

    fn size(&mut self) -> Parsed<Option<crate::frontend::ut::ast::Expr>> {
        if !self.eat("[") {
            return Ok(None);
        }
        let size = self.expression()?;
        self.expect("]", "an array's size stands in brackets: `a[3]`")?;
        Ok(Some(size))
    }

    fn initial(&mut self) -> Parsed<Initial> {
        if !self.eat("=") {
            return Ok(Initial::Zero);
        }
        if !self.at("[") {
            return Ok(Initial::One(self.expression()?));
        }
        let open = self.advance();
        let values = self.list("]", |parser| parser.expression())?;
        Ok(Initial::Each(values, open.to(self.previous_span())))
    }

    fn syncs(&mut self, kind: SyncKind, file: &mut File) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.ident("a name")?;
            let size = self.size()?;
            if self.at("=") {
                let diagnostic = Diagnostic::new(self.span(), "locks and condition variables have no value")
                    .label("nothing to initialise")
                    .hint("end the declaration with `;`");
                return self.fail(diagnostic);
            }
            file.syncs.push(Sync { kind, name, size });
            if !self.eat(",") {
                return self.semicolon("the declaration");
            }
        }
    }

    fn structure(&mut self, file: &mut File) -> Parsed<()> {
        self.advance();
        let name = self.ident("the struct's name")?;
        self.expect("{", "a struct lists its fields: `struct Node { value, next }`")?;
        let fields = self.list("}", |parser| {
            let access = if parser.eat_word("plain") { Access::Plain } else { Access::Atomic };
            let field = parser.ident("a field's name")?;
            parser.no_type("fields")?;
            Ok((access, field))
        })?;
        self.eat(";");
        file.structs.push(Struct { name, fields });
        Ok(())
    }

    fn function(&mut self, file: &mut File) -> Parsed<()> {
        self.advance();
        let name = self.ident("the function's name")?;
        self.expect("(", "parameters stand in parentheses: `fn f(a, b) { … }`")?;
        let parameters = self.parameters()?;
        if self.at("->") {
            let diagnostic = Diagnostic::new(self.span(), "functions declare no result type")
                .label("not needed")
                .hint("write `return value;` in the body; every value is an integer");
            return self.fail(diagnostic);
        }
        let body = self.block()?;
        file.functions.push(Function { name, parameters, body });
        Ok(())
    }

    /// After `(`.
    fn parameters(&mut self) -> Parsed<Vec<Ident>> {
        self.list(")", |parser| {
            let name = parser.ident("a parameter's name")?;
            parser.no_type("parameters")?;
            Ok(name)
        })
    }

    /// Rust and C programmers write types; there are none.
    pub(super) fn no_type(&mut self, what: &str) -> Parsed<()> {
        if !self.at(":") {
            return Ok(());
        }
        let diagnostic = Diagnostic::new(self.span(), format!("{what} have no types"))
            .label("no type belongs here")
            .hint("write the name alone; every value is a 64-bit integer");
        self.fail(diagnostic)
    }

    fn thread(&mut self, file: &mut File) -> Parsed<()> {
        self.advance();
        let name = self.ident("the thread's name")?;
        let parameters = if self.eat("(") { self.parameters()? } else { Vec::new() };
        let count = if self.eat("*") || self.eat("×") { Some(self.expression()?) } else { None };
        let body = self.block()?;
        file.threads.push(ThreadItem { name, parameters, count, body });
        Ok(())
    }

    fn condition(&mut self, quantifier: Quantifier, file: &mut File) -> Parsed<()> {
        let start = self.advance();
        self.expect("(", "the condition stands in parentheses: `exists (x == 1);`")?;
        let proposition = self.condition_expression()?;
        let close = self.expect(")", "close the condition with `)`")?;
        file.conditions.push(Condition { quantifier, proposition, span: start.to(close) });
        self.semicolon("the condition")
    }
}
