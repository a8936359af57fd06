"""What each field means, in Chinese; the English words are those of the docstrings."""

from __future__ import annotations

_SPACE = {
    "startIndex": "起始分形的序号，从源操作数的第几个分形开始搬运；0表示第一个",
    "repeatTimes": "迭代次数；0表示不搬运（NOP）",
    "srcStride": "相邻迭代间，源操作数前一个分形与后一个分形首地址的间隔；"
    "0表示重复读同一分形",
    "dstGap": "相邻迭代间，目的操作数前一个分形尾地址与后一个分形首地址的间隔",
    "ifTranspose": "是否对每个分形随路转置",
    "sid": "预留参数，不生效",
    "addrMode": "地址更新方式：0为每次迭代递增srcStride，1为递减",
    "rsv": "预留参数，不生效",
}
_SQUARES = {
    "startIndex": "起始方阵的序号，从源操作数的第几个方阵开始搬运",
    "repeatTimes": "迭代次数，每次迭代转置一个方阵；0表示不搬运（NOP）",
    "srcStride": "相邻迭代间，源操作数前一个方阵与后一个方阵首地址的间隔",
    "dstGap": "目的操作数中，前一次迭代第一个分形尾地址到下一次迭代第一个分形首地址"
    "的间隔；连续排布时16位为0，8位、32位为1，4位为3",
    "dstFracGap": "每次迭代内，目的操作数前一个分形尾地址与后一个分形首地址的间隔；"
    "16位类型不生效",
}
_MATRICES = {
    "ndNum": "搬运的矩阵个数；0表示不搬运（NOP）",
    "nValue": "矩阵的行数",
    "dValue": "矩阵的列数",
}
MEANINGS = {
    "load2d": {
        "ifTranspose": "是否对每个分形随路转置；仅支持16位类型，且仅限L1到L0的通路",
        "dstGap": _SPACE["dstGap"] + "；Atlas训练系列产品必须为0",
    },
    "load2dv2": {
        "mStartPosition": "源矩阵M轴方向的起始位置",
        "kStartPosition": "源矩阵K轴方向的起始位置",
        "mStep": "源矩阵M轴方向的搬运长度；0表示不搬运（NOP）",
        "kStep": "源矩阵K轴方向的搬运长度；0表示不搬运（NOP）",
        "srcStride": "源矩阵K方向前一个分形与后一个分形首地址的间隔，可为负",
        "dstStride": "目的矩阵K方向前一个分形与后一个分形首地址的间隔",
        "ifTranspose": "是否将整个窗口随路转置，仅限L1到L0；4位时mStep须为4的倍数，"
        "8位时mStep须为2的倍数，32位时kStep须为2的倍数",
    },
    "load3dv2": {
        "padList": "特征图的填充：[左, 右, 上, 下]",
        "l1H": "特征图的高",
        "l1W": "特征图的宽",
        "channelSize": "通道数，须为C0的倍数",
        "kExtension": "窗口在K方向的长度；未到矩阵最后一个分形时须为C0的倍数",
        "mExtension": "窗口在M方向的长度；未到最后一个分形时须为16的倍数（32位不限）",
        "kStartPt": "窗口在K方向的起点，须为C0的倍数",
        "mStartPt": "窗口在M方向的起点",
        "strideW": "卷积核在宽方向滑动的步长",
        "strideH": "卷积核在高方向滑动的步长",
        "filterW": "卷积核的宽",
        "filterH": "卷积核的高",
        "dilationFilterW": "卷积核在宽方向的膨胀系数",
        "dilationFilterH": "卷积核在高方向的膨胀系数",
        "enTranspose": "搬往L0A时是否随路转置：16位、32位，atlas_350上8位亦可；"
        "搬往L0B时总是转置",
        "enSmallK": "不生效",
        "padValue": "特征图之外的位置所写的值",
        "filterSizeW": "卷积核的宽加256",
        "filterSizeH": "卷积核的高加256",
        "fMatrixCtrl": "不生效",
        "repeat.repeatStride": "相邻两次重复的间隔；只重复一次时不生效",
        "repeat.repeatTime": "重复次数，目前只支持1",
        "repeat.repeatMode": "重复模式；只重复一次时不生效",
        "repeat.dstStride": "目的操作数中相邻两列分形首地址的间隔；仅atlas_350，且必填",
    },
    "ldwt_v1": _SQUARES,
    "ldwt_v2": {
        **_SQUARES,
        "startIndex": _SPACE["startIndex"],
        "srcStride": "相邻迭代间，源操作数前一个方阵与后一个方阵首地址的间隔，以分形计",
        "srcFracGap": "每次迭代内，源操作数前一个分形尾地址与后一个分形首地址的间隔；"
        "16位类型不生效",
    },
    "nz2nd": {
        **_MATRICES,
        "dValue": "矩阵的列数，须为16的倍数",
        "srcNdMatrixStride": "源操作数中相邻NZ矩阵首地址的间隔",
        "srcNStride": "同一源NZ矩阵中相邻Z排布（16列）首地址的间隔",
        "dstDStride": "目的ND矩阵相邻行首地址的间隔",
        "dstNdMatrixStride": "目的操作数中相邻ND矩阵首地址的间隔",
    },
    "nd2nz": {
        **_MATRICES,
        "nValue": "矩阵的行数；0表示不搬运（NOP）",
        "dValue": "矩阵的列数；0表示不搬运（NOP）",
        "srcNdMatrixStride": "源操作数中相邻ND矩阵首地址的间隔",
        "srcDValue": "源ND矩阵相邻行首地址的间隔",
        "dstNzC0Stride": "目的NZ矩阵中相邻两列C0首地址的间隔；dValue不超过C0时可为0",
        "dstNzNStride": "目的NZ矩阵中相邻行首地址的间隔",
        "dstNzMatrixStride": "目的操作数中相邻NZ矩阵首地址的间隔",
    },
    "nddma": {
        "loopSrcStride": "每个维度上，源操作数相邻元素的间隔",
        "loopDstStride": "每个维度上，目的操作数相邻元素的间隔",
        "loopSize": "每个维度处理的元素个数，不含填充；任一为0表示不搬运（NOP）",
        "loopLpSize": "每个维度左侧填充的元素个数",
        "loopRpSize": "每个维度右侧填充的元素个数",
        "constantValue": "填充的常数；64位类型必须为0",
        "isNearestValueMode": "以最近的元素填充，而不用常数；64位类型不支持",
        "ascOptimize": "预留参数，不生效",
        "config.loopLpSize": "所有维度的左侧填充；0xFFFF表示不设置，用各维度自己的值",
        "config.loopRpSize": "所有维度的右侧填充；0xFFFF表示不设置，用各维度自己的值",
    },
    "data_copy": {
        "blockCount": "连续块的个数；0表示不搬运（NOP）",
        "blockLen": "每个连续块的长度；0表示不搬运（NOP）",
        "srcGap": "源操作数中前一个连续块尾地址与后一个首地址的间隔",
        "dstGap": "目的操作数中前一个连续块尾地址与后一个首地址的间隔",
    },
    "data_copy_pad": {
        "blockCount": "连续块的个数；0表示不搬运（NOP）",
        "blockLen": "每个连续块的长度，须为元素大小的倍数；0表示不搬运（NOP）",
        "srcStride": "源操作数中前一个连续块尾地址与后一个首地址的间隔",
        "dstStride": "目的操作数中前一个连续块尾地址与后一个首地址的间隔",
        "padParams.isPad": "是否填充；为false时其余三项不生效",
        "padParams.leftPadding": "左侧填充的元素个数",
        "padParams.rightPadding": "右侧填充的元素个数",
        "padParams.paddingValue": "填充的值；64位类型必须为0",
    },
    "fixpipe": {
        "nSize": "列数；0表示不搬运（NOP）",
        "mSize": "行数；0表示不搬运（NOP）",
        "srcStride": "L0C中相邻两列分形（16列）首地址的间隔",
        "dstStride": "目的操作数相邻行首地址的间隔",
        "ndNum": "矩阵个数；0表示不搬运（NOP）",
        "srcNdStride": "源操作数中相邻矩阵首地址的间隔",
        "dstNdStride": "目的操作数中相邻矩阵首地址的间隔",
        "quantPre": "随路类型转换：不转换，float转half，或float转bfloat16_t",
        "reluEn": "是否随路做ReLU",
    },
    "mmad": {
        "m": "左矩阵的行数；0表示不计算（NOP）",
        "n": "右矩阵的列数；0表示不计算（NOP）",
        "k": "左矩阵的列数，右矩阵的行数；0表示不计算（NOP）",
        "cmatrixInitVal": "true时结果从0（或bias）开始，false时在L0C已有结果上累加",
        "kDirectionAlign": "仅float：L0A、L0B中K对齐到16，而不是8",
    },
}


def meaning(instruction: str, field: str) -> str:
    """What a field means, in Chinese; "" where nobody has written it down."""
    own = MEANINGS.get(instruction, {})
    return own.get(field) or _SPACE.get(field, "")
