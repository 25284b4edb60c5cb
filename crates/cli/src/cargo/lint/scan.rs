//! Looks for paths in one file.

use super::advice::{advice, advice_on_macro};
use super::condition::may_be_active;
use proc_macro2::{Span, TokenStream, TokenTree};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ForeignItem, ImplItem, Item, ItemMod, Macro, Stmt, TraitItem, UseTree};

/// A use of something that is not seen.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// From 1.
    pub(super) line: usize,
    /// From 1.
    pub(super) column: usize,
    pub(super) path: String,
    pub(super) instead: String,
}

/// What is in a file.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) uses: Vec<Use>,
    /// Files and folders of modules that are not compiled when the crate is checked.
    pub(super) inactive: Vec<PathBuf>,
}

/// Scans the text of a file.
pub(super) fn scan(text: &str, path: &Path, cfg: &str) -> syn::Result<Scanned> {
    let file = syn::parse_file(text)?;
    let mut scan = Scan { cfg, folder: folder_of_modules(path), scanned: Scanned::default() };
    if may_be_active(&file.attrs, cfg) {
        scan.visit_file(&file);
    }
    scan.scanned.uses.sort();
    scan.scanned.uses.dedup();
    Ok(scan.scanned)
}

/// Where the modules of a file are.
fn folder_of_modules(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => folder,
        Some(name) => folder.join(name),
    }
}

struct Scan<'c> {
    cfg: &'c str,
    folder: PathBuf,
    scanned: Scanned,
}

impl Scan<'_> {
    fn is_active(&self, attributes: &[Attribute]) -> bool {
        may_be_active(attributes, self.cfg)
    }

    /// Notes a path. A single word may be anything.
    fn note_words(&mut self, span: Span, path: &[String]) {
        if path.len() > 1 {
            self.note(span, path);
        }
    }

    fn note(&mut self, span: Span, path: &[String]) {
        let segments: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(instead) = advice(&segments) {
            self.add(span, path.join("::"), instead);
        }
    }

    fn add(&mut self, span: Span, path: String, instead: String) {
        let start = span.start();
        self.scanned.uses.push(Use { line: start.line, column: start.column + 1, path, instead });
    }

    /// Notes every path that a `use` names.
    fn note_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&path.tree, &with(path.ident.to_string())),
            UseTree::Name(name) => self.note(name.ident.span(), &with(name.ident.to_string())),
            UseTree::Rename(rename) => self.note(rename.ident.span(), &with(rename.ident.to_string())),
            UseTree::Glob(glob) => self.note(glob.star_token.spans[0], &with("*".to_string())),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.note_tree(item, before)),
        }
    }

    /// Notes the paths among the words of a macro, which need not be Rust.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut begin, mut colons) = (Span::call_site(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if !path.is_empty() && colons == 2 => path.push(ident.to_string()),
                TokenTree::Ident(ident) => {
                    self.note_words(begin, &path);
                    (path, begin) = (vec![ident.to_string()], ident.span());
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.note_words(begin, &path);
                    path.clear();
                    self.note_tokens(group.stream());
                }
                _ => {
                    self.note_words(begin, &path);
                    path.clear();
                }
            }
            colons = 0;
        }
        self.note_words(begin, &path);
    }
}

/// The attributes of what a `cfg` can be on, beside items.
fn attributes(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Block(block) => &block.attrs,
        Expr::Macro(call) => &call.attrs,
        Expr::Call(call) => &call.attrs,
        Expr::MethodCall(call) => &call.attrs,
        Expr::If(condition) => &condition.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Scan<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::ExternCrate(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::ForeignMod(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Trait(item) => &item.attrs,
            Item::Type(item) => &item.attrs,
            Item::Union(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if self.is_active(attributes) {
            visit::visit_item(self, item);
        } else if let Item::Mod(ItemMod { ident, content: None, .. }) = item {
            let module = self.folder.join(ident.to_string());
            self.scanned.inactive.extend([module.with_extension("rs"), module]);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        let inner = self.folder.join(item.ident.to_string());
        let outer = std::mem::replace(&mut self.folder, inner);
        visit::visit_item_mod(self, item);
        self.folder = outer;
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.note_tree(&item.tree, &[]);
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let is_active = match item {
            ImplItem::Fn(item) => self.is_active(&item.attrs),
            ImplItem::Const(item) => self.is_active(&item.attrs),
            ImplItem::Type(item) => self.is_active(&item.attrs),
            _ => true,
        };
        if is_active {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'a TraitItem) {
        let is_active = !matches!(item, TraitItem::Fn(item) if !self.is_active(&item.attrs));
        if is_active {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_foreign_item(&mut self, _: &'a ForeignItem) {}

    fn visit_field(&mut self, field: &'a syn::Field) {
        if self.is_active(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let is_active = match statement {
            Stmt::Local(local) => self.is_active(&local.attrs),
            Stmt::Expr(expression, _) => self.is_active(attributes(expression)),
            Stmt::Macro(call) => self.is_active(&call.attrs),
            Stmt::Item(_) => true,
        };
        if is_active {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first().filter(|_| segments.len() > 1) {
            self.note(first.ident.span(), &segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.visit_path(&call.path);
        if let Some(name) = call.path.get_ident()
            && let Some(instead) = advice_on_macro(&name.to_string())
        {
            self.add(name.span(), format!("{name}!"), instead);
        }
        let is_choice = call.path.segments.last().is_some_and(|name| name.ident == "cfg_if");
        // What is said by a macro under a condition is as good as items.
        match syn::parse2::<syn::File>(call.tokens.clone()) {
            Ok(items) if !items.items.is_empty() => self.visit_items(&items),
            _ if is_choice => self.visit_branches(call.tokens.clone()),
            _ => self.note_tokens(call.tokens.clone()),
        }
    }
}

impl Scan<'_> {
    fn visit_items(&mut self, file: &syn::File) {
        file.items.iter().for_each(|item| self.visit_item(item));
    }

    /// Visits `if #[cfg(…)] { … } else if #[cfg(…)] { … } else { … }`, but for branches that are not compiled.
    fn visit_branches(&mut self, tokens: TokenStream) {
        let (mut condition, mut is_decided) = (None, false);
        for token in tokens {
            let TokenTree::Group(group) = token else { continue };
            if group.delimiter() == proc_macro2::Delimiter::Bracket {
                condition = Some(group);
                continue;
            }
            let attributes = condition.take().map(|condition| syn::parse_quote!(# #condition));
            let attributes: Vec<Attribute> = attributes.into_iter().collect();
            let is_known = attributes.iter().any(|attribute| is_certain(attribute, self.cfg));
            if !is_decided && self.is_active(&attributes) {
                match syn::parse2::<syn::File>(group.stream()) {
                    Ok(items) => self.visit_items(&items),
                    Err(_) => self.note_tokens(group.stream()),
                }
            }
            is_decided |= is_known;
        }
    }
}

/// Whether a condition holds for certain: its opposite does not.
fn is_certain(attribute: &Attribute, cfg: &str) -> bool {
    let Ok(condition) = attribute.parse_args::<syn::Meta>() else { return false };
    !may_be_active(&[syn::parse_quote!(#[cfg(not(#condition))])], cfg)
}
