"""The words of the generated pages, in English and in Chinese."""

from __future__ import annotations

import re

WORDS = {
    "en": {
        "index": "Instructions",
        "index_text": "Each page is made from what the package declares of the "
        "instruction, and its picture from the map.",
        "other": "中文",
        "instruction": "instruction",
        "name": "name in case files and commands",
        "exactly": "exactly",
        "reference": "The struct in Python",
        "each": "each",
        "in_c": "In Ascend C",
        "meaning": "meaning",
        "without": "Not on",
        "positions": "Positions",
        "errata_text": "E: slips in the documents, settled as said; Q: what chips do "
        "instead, as built, which ascjax does not follow; H: habits of real kernels.",
        "function": "function",
        "params": "params",
        "source": "described in",
        "example": "An example",
        "formula": "The formula with its numbers put in",
        "fields": "Fields",
        "field": "field (C)",
        "python": "in Python",
        "range": "range, unit",
        "default": "default",
        "required": "must be given",
        "support": "Products, paths and types",
        "product": "product",
        "path": "path",
        "types": "types",
        "errata": "Where documents disagree",
        "explore": "Move its fields: `ascjax explore --instruction {name}`, or on the "
        "command line `ascjax show {name} --help`.",
        "also": "A struct that C passes besides: `{name}`.",
        "member": "A struct inside the struct: `{name}`.",
        "flag": "true or false",
        "number": "a number of the type",
        "any": "any, ignored",
        "picture": "The move of the example, coloured by where elements are from",
    },
    "zh": {
        "index": "指令",
        "index_text": "每页均由软件包中该指令的声明生成，图由索引映射本身绘制。",
        "other": "English",
        "instruction": "指令",
        "name": "用例文件与命令行中的名称",
        "exactly": "精确定义（英文）",
        "reference": "Python 结构体",
        "each": "（每项）",
        "in_c": "对应的 Ascend C 代码",
        "meaning": "含义",
        "without": "不支持的产品",
        "positions": "逻辑位置",
        "errata_text": "E：文档笔误，以所述为准；Q：芯片的实际行为，ascjax不予模拟；"
        "H：实际算子的习惯用法。",
        "function": "函数",
        "params": "参数结构体",
        "source": "出处",
        "example": "示例",
        "formula": "代入数值后的搬运公式",
        "fields": "字段",
        "field": "字段（C）",
        "python": "Python 名称",
        "range": "取值范围，单位",
        "default": "默认值",
        "required": "必填",
        "support": "产品、数据通路与数据类型",
        "product": "产品",
        "path": "数据通路",
        "types": "数据类型",
        "errata": "文档中的出入（英文）",
        "explore": "用滑块改变各字段：`ascjax explore --instruction {name}`；"
        "命令行：`ascjax show {name} --help`。",
        "also": "C 接口中另行传入的结构体：`{name}`。",
        "member": "内嵌的结构体：`{name}`。",
        "flag": "true 或 false",
        "number": "该数据类型的数值",
        "any": "任意，不生效",
        "picture": "示例的搬运结果：颜色表示元素来自源操作数的何处",
    },
}

TITLES = {
    "load2d": "Load2D",
    "load2dv2": "Load2DV2",
    "load3dv2": "Load3DV2",
    "ldwt_v1": "LoadDataWithTranspose",
    "ldwt_v2": "LoadDataWithTranspose V2",
    "nz2nd": "NZ2ND",
    "nddma": "NDDMA",
    "nd2nz": "ND2NZ",
    "data_copy": "DataCopy",
    "data_copy_pad": "DataCopyPad",
    "fixpipe": "Fixpipe",
    "mmad": "Mmad",
}
"""What people call an instruction; another goes by its name."""

PRODUCTS_ZH = {
    "atlas_350": "Ascend 950PR/Ascend 950DT",
    "atlas_a3": "Atlas A3 训练系列产品/Atlas A3 推理系列产品",
    "atlas_a2": "Atlas A2 训练系列产品/Atlas A2 推理系列产品",
    "atlas_200i_500_a2": "Atlas 200I/500 A2 推理产品",
    "atlas_inference_aicore": "Atlas 推理系列产品AI Core",
    "atlas_inference_vector": "Atlas 推理系列产品Vector Core",
    "atlas_training": "Atlas 训练系列产品",
    "kirin_x90": "Kirin X90",
    "kirin_9030": "Kirin 9030",
}

SUMMARIES_ZH = {
    "load2d": "以512字节的分形为单位搬运，每次迭代一个分形；16比特类型可随路转置。",
    "load2dv2": "从NZ格式的源矩阵中搬运mStep×kStep个分形组成的窗口，可随路转置。",
    "load3dv2": "把NC1HWC0特征图按im2col展开，搬运到L0A或L0B。",
    "ldwt_v1": "以方阵为单位搬运并随路转置；方阵由若干分形拼成。",
    "ldwt_v2": "以方阵为单位搬运并随路转置；步长以分形为单位，源分形之间可留间隔。",
    "nz2nd": "把UB中的NZ矩阵随路转换为ND，写回GM。",
    "nd2nz": "把GM中的ND矩阵随路转换为NZ，搬入L1。",
    "nddma": "多维数据搬运：逐维给定步长与元素个数，左右可填充。",
    "data_copy": "搬运若干段连续数据块，段与段之间可留间隔。",
    "data_copy_pad": "搬运若干段连续数据，长度以字节计，左右可填充。",
    "fixpipe": "把L0C中的结果随路转换类型、激活并转为ND，写回GM。",
    "mmad": "矩阵乘加：L0C = L0A × L0B，可累加，可带偏置。",
}
"""One sentence of each instruction; the other languages take the docstring's."""

_UNITS = (
    (r"\bfractals? of 512 bytes\b", "512字节（一个分形）"),
    (r"\bunits? of 16 elements\b", "16个元素"),
    (r"\bunits? of 256 elements\b", "256个元素"),
    (r"\bunits? of 32 bytes\b", "32字节"),
    (r"\bblocks? of 32 bytes\b", "32字节（一个数据块）"),
    (r"\bone a dimension\b", "每维一个"),
    (r"\bof every dimension\b", "（所有维度）"),
    (r"\bpadding elements on the left\b", "左侧填充元素"),
    (r"\bpadding elements on the right\b", "右侧填充元素"),
    (r"\bpadding elements\b", "填充元素"),
    (r"\bstart to start\b", "首地址到首地址"),
    (r"\bend to start\b", "尾地址到首地址"),
    (r"\b0 increments, 1 decrements\b", "0递增，1递减"),
    (r"\bcolumns of L0A, rows of L0B\b", "L0A的列，L0B的行"),
    (r"\bcolumns of the window\b", "窗口的列"),
    (r"\brows of the window\b", "窗口的行"),
    (r"\bcolumns of the map\b", "特征图的列"),
    (r"\brows of the map\b", "特征图的行"),
    (r"\bcolumns of the filter\b", "卷积核的列"),
    (r"\brows of the filter\b", "卷积核的行"),
    (r"\bbytes in GM\b", "GM中为字节"),
    (r"\bblocks in UB\b", "UB中为数据块"),
    (r"32字节（一个数据块） in UB", "UB中为32字节"),
    (r"\bat most 32 bytes\b", "不超过32字节"),
    (r"\bsquares\b", "方阵"),
    (r"\bfractals\b", "分形"),
    (r"\bmatrices\b", "矩阵"),
    (r"\bchannels\b", "通道"),
    (r"\belements\b", "元素"),
    (r"\bcolumns\b", "列"),
    (r"\brows\b", "行"),
    (r"\bruns\b", "连续块"),
    (r"\brepeats\b", "次"),
    (r"\bbytes\b", "字节"),
    (r"\ba mode\b", "模式"),
    (r"\bignored\b", "不生效"),
)


def unit(text: str, language: str) -> str:
    """A unit in a language."""
    if language == "en":
        return text
    for pattern, said in _UNITS:
        text = re.sub(pattern, said, text)
    return text.replace(", ", "，")
