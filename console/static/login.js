// @ts-check
// Keeps the view that the address names over a login: the redirect after the form leads to it.

const form = document.querySelector("form");
if (form) form.action += location.hash;
