"""Words of sites in other languages, and other English words for them. A word that is not listed stays."""

from collections.abc import Mapping

_TABLE = """
home          | start        | Startseite     | inicio         | 首页
actions       | tasks        | Aktionen       | acciones       | 操作
tables        | sections     | Tabellen       | tablas         | 表格
find          | look up      | Suchen         | buscar         | 查找
search        | seek         | Suche          | búsqueda       | 搜索
review        | check        | Prüfen         | revisar        | 审核
next          | more         | weiter         | siguiente      | 下一页
pages         | parts        | Seiten         | páginas        | 页
change        | edit         | Ändern         | cambiar        | 修改
continue      | proceed      | Weiter         | continuar      | 继续
rows          | entries      | Zeilen         | filas          | 行
orders        | purchases    | Bestellungen   | pedidos        | 订单
order         | purchase     | Bestellung     | pedido         | 订单
lines         | positions    | Positionen     | líneas         | 明细
line          | position     | Position       | línea          | 明细
customers     | clients      | Kunden         | clientes       | 客户
customer      | client       | Kunde          | cliente        | 客户
tickets       | cases        | Anfragen       | incidencias    | 工单
ticket        | case         | Anfrage        | incidencia     | 工单
products      | goods        | Produkte       | productos      | 产品
product       | article      | Produkt        | producto       | 产品
payments      | charges      | Zahlungen      | pagos          | 付款
payment       | charge       | Zahlung        | pago           | 付款
refunds       | repayments   | Erstattungen   | reembolsos     | 退款
refund        | repay        | Erstattung     | reembolso      | 退款
shipments     | parcels      | Sendungen      | envíos         | 货件
shipment      | parcel       | Sendung        | envío          | 货件
returns       | send-backs   | Rücksendungen  | devoluciones   | 退货
return        | send-back    | Rücksendung    | devolución     | 退货
employees     | staff        | Mitarbeiter    | empleados      | 员工
messages      | notes        | Nachrichten    | mensajes       | 消息
message       | note         | Nachricht      | mensaje        | 消息
addresses     | locations    | Adressen       | direcciones    | 地址
address       | location     | Adresse        | dirección      | 地址
builds        | assemblies   | Konfigurationen | montajes      | 组装
build         | assembly     | Konfiguration  | montaje        | 组装
handbook      | manual       | Handbuch       | manual         | 手册
cancel        | call off     | stornieren     | cancelar       | 取消
issue         | grant        | ausstellen     | emitir         | 开具
request       | ask for      | anfordern      | solicitar      | 申请
approval      | consent      | Freigabe       | aprobación     | 批准
send          | dispatch     | senden         | enviar         | 发送
internal      | in-house     | intern         | interno        | 内部
update        | revise       | aktualisieren  | actualizar     | 更新
create        | open         | anlegen        | crear          | 创建
close         | end          | schließen      | cerrar         | 关闭
escalate      | pass on      | eskalieren     | escalar        | 上报
give          | hand out     | geben          | dar            | 给予
credit        | voucher      | Guthaben       | saldo          | 余额
note          | remark       | Notiz          | nota           | 备注
add           | attach       | hinzufügen     | añadir         | 添加
status        | state        | Status         | estado         | 状态
by            | per          | nach           | por            | 按
"""
_ROWS = tuple(tuple(part.strip() for part in line.split("|")) for line in _TABLE.strip().splitlines())
SYNONYMS: Mapping[str, str] = {row[0]: row[1] for row in _ROWS}
"""By English word, in small letters: another one."""
LANGUAGES: Mapping[str, Mapping[str, str]] = {
    language: {**{row[0]: row[place] for row in _ROWS}, **{row[1]: row[place] for row in _ROWS if " " not in row[1]}}
    for place, language in ((2, "de"), (3, "es"), (4, "zh"))
}
"""By language, and by English word in small letters: the word, also of a synonym."""
