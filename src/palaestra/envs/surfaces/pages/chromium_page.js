// What a window shows of a page, as the tree that it was drawn from: roles, ids, names, values, and what is in what.
() => {
  const fields = { checkbox: 'checkbox', search: 'searchbox', textarea: 'textbox', 'select-one': 'combobox' }
  const node = (role, given) => ({ role, id: '', name: '', value: '', options: [], required: false, children: [], ...given })
  const beside = e => (e.nextSibling?.nodeType === Node.TEXT_NODE ? e.nextSibling.textContent.replace(/^ /, '') : '')
  const within = e => [...e.children].flatMap(read)
  const pairs = list => [...list.children].filter(e => e.tagName === 'DT').map(term => {
    const said = term.nextElementSibling, inner = within(said)
    return node('definition', { name: term.textContent, value: inner.length ? '' : said.textContent, children: inner })
  })
  const field = label => {
    const e = label.querySelector('[data-id]'), options = [...(e.options ?? [])].map(option => option.value)
    return node(fields[e.type], {
      id: e.dataset.id, name: label.firstChild.textContent, options: options.filter(option => option !== ''),
      value: e.type === 'checkbox' ? (e.checked ? 'true' : '') : e.value, required: e.ariaRequired === 'true',
    })
  }
  const cell = td => {
    const label = td.querySelector(':scope > small')
    if (label === null) return within(td)
    return [node('cell', { name: label.textContent, value: [...td.childNodes].slice(1).map(part => part.textContent).join('') })]
  }
  function read(e) {
    if (!e.checkVisibility()) return []
    const id = e.dataset.id ?? '', label = e.ariaLabel ?? ''
    switch (e.tagName) {
      case 'H1': case 'H2': return [node('heading', { name: e.textContent })]
      case 'P': return [node('text', { value: e.textContent })]
      case 'A':
        if (e.role === 'tab') return [node('tab', { id, name: e.textContent, value: e.ariaSelected === 'true' ? 'selected' : '' })]
        return [node('link', { id, name: e.textContent, value: beside(e) })]
      case 'BUTTON': return [node('button', { id, name: label || e.textContent })]
      case 'DL': return pairs(e)
      case 'UL': return [node('list', { name: label, children: within(e) })]
      case 'TABLE': return [node('table', { name: label, children: within(e) })]
      case 'TR': return [node('row', { children: [...e.children].flatMap(cell) })]
      case 'NAV': return [node('navigation', { name: label, children: within(e) })]
      case 'FORM': return [node('form', { name: label, children: within(e) })]
      case 'LABEL': return [field(e)]
      case 'DIV': if (e.className === 'card') return [node('listitem', { children: [...e.children].flatMap(cell) })]
    }
    return within(e) // what only holds others: li, tbody, a frame around a table
  }
  const content = e => {
    const list = e.querySelector(':scope > dl, :scope > ul')
    if (list === null) return e.textContent
    if (list.tagName === 'UL') return [...list.children].map(content)
    const terms = [...list.children].filter(part => part.tagName === 'DT')
    return Object.fromEntries(terms.map(term => [term.textContent, content(term.nextElementSibling)]))
  }
  const over = document.querySelector('main > [role=dialog], main > [role=alert]')
  const outcome = over && { refused: over.role === 'alert', action: over.ariaLabel ?? '', content: content(over) }
  const parts = [...document.querySelectorAll('body > nav, main > *')].filter(e => e !== over)
  const look = document.documentElement
  return {
    url: location.pathname + location.search, title: document.title, outcome, elements: parts.flatMap(read),
    language: look.lang, theme: look.classList[0], density: look.classList[1],
    icons: document.querySelector('button.icon') !== null,
  }
}
